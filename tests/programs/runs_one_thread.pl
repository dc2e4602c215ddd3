#!/usr/bin/perl
# Says that it is parallel, and runs on one thread, whatever it is asked for.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %about, %actions );
$about{caps}{parallel} = JSON::PP::true();
my $prepare = $actions{prepare};
$actions{prepare} = sub { my ($request) = @_; $prepare->( { %$request, threads => 1 } ) };
serve();
