#!/usr/bin/perl
# Makes every hundredth call and the last one of each set, and is honest about the time that takes.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %actions, %bound );
my $measure = $actions{measure};
$actions{measure} = sub {
    my ($request) = @_;
    my ( $calls, $sets ) = ( $request->{calls}, $bound{sets} );
    my $made = int( $calls / 100 ) + $sets;
    $made = $calls if $made > $calls;
    $measure->( { %$request, calls => $made, first => $request->{first} + $calls - $made } );
};
serve();
