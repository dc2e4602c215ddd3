#!/usr/bin/perl
# Is honest, takes as many seconds to start as its first argument says, and says its second of loading a library.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our %about;
sleep $ARGV[0];
$about{start_s} = $ARGV[1] + 0;
serve();
