#!/usr/bin/perl
# Is honest but for its threads: it computes on one, and says that it does on as many as it is asked for.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %about, %actions, $answers );
$about{caps}{parallel} = JSON::PP::true();
my ( $prepare, $threads ) = ( $actions{prepare}, 1 );
{
    no warnings 'redefine';
    my $answer = \&answer;
    *answer = sub { my %fields = @_; $fields{threads} &&= $threads; $answer->(%fields) };
}
$actions{prepare} = sub {
    my ($request) = @_;
    $threads = $request->{threads};
    $prepare->( { %$request, threads => 1 } );
};
serve();
