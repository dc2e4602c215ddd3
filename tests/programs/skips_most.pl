#!/usr/bin/perl
# Makes every hundredth call and the last one of each set, and is honest about the time that takes.
use strict;
use warnings;
use FindBin;

our $made = sub {
    my ( $calls, $sets ) = @_;
    my $some = int( $calls / 100 ) + $sets;
    return $some < $calls ? $some : $calls;
};
require "$FindBin::Bin/skips_calls.pl";
