#!/usr/bin/perl
# Makes the last call of each set only, and is honest about the time that takes.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %actions, %bound, $made );
$made //= sub { my ( $calls, $sets ) = @_; return $calls < $sets ? $calls : $sets };
my $measure = $actions{measure};
$actions{measure} = sub {
    my ($request) = @_;
    my ( $calls, $sets ) = ( $request->{calls}, $bound{sets} );
    my $last = $made->( $calls, $sets );
    $measure->( { %$request, calls => $last, first => $request->{first} + $calls - $last } );
};
serve();
