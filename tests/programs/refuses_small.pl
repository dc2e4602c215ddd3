#!/usr/bin/perl
# Does not compute problems of fewer than 4 queries.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our %actions;
my $prepare = $actions{prepare};
$actions{prepare} = sub {
    my ($request) = @_;
    return answer( state => 'unsupported', why => 'fewer than 4 queries' )
      if $request->{shape}{q_len} < 4;
    $prepare->($request);
};
serve();
