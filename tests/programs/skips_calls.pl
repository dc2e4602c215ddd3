#!/usr/bin/perl
# Makes the last call of each set only, and is honest about the time that takes.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %actions, %bound );
my $measure = $actions{measure};
$actions{measure} = sub {
    my ($request) = @_;
    my ( $calls, $sets ) = ( $request->{calls}, $bound{sets} );
    my $made = $calls < $sets ? $calls : $sets;
    $measure->( { %$request, calls => $made, first => $request->{first} + $calls - $made } );
};
serve();
