#!/usr/bin/perl
# Runs on every CPU, and says that it does not.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our %actions;
my $prepare = $actions{prepare};
$actions{prepare} = sub {
    my ($request) = @_;
    {
        no warnings qw(redefine once);
        *main::cpus = sub { return @{ $request->{cpus} } };
    }
    system "taskset -pc 0-1023 $$ >&2";
    $prepare->($request);
};
serve();
