#!/usr/bin/perl
# Its library is not installed.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our %actions;
$actions{prepare} = sub {
    answer( state => 'unavailable', why => 'install libfast with: apt install libfast' );
};
serve();
