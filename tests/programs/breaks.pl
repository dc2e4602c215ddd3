#!/usr/bin/perl
# Is honest until it is asked to compute; then it does what its name says after the dash.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %actions, $answers );
my %ways = (
    garbage => sub { print {$answers} "nonsense\n" },
    exits   => sub { exit 3 },
    dies    => sub { kill 'SEGV', $$ },
    fails   => sub { die "no luck\n" },
    hangs   => sub { sleep 1000 },
);
$actions{execute} = $actions{measure} = $ways{ $0 =~ s/.*-//r };
serve();
