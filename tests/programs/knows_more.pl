#!/usr/bin/perl
# Is honest, and called as its first argument says: gives numbers beside its times (with the argument "bad" one
# that is none), and says itself what its processors can do.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

our ( %about, %actions );
$about{name}     = $ARGV[0];
$about{ceilings} = JSON::PP::true();
my $sent = grep( { $_ eq 'bad' } @ARGV ) ? 'much' : 64;
{
    no warnings 'redefine';
    my $answer = \&answer;
    *answer = sub {
        my %fields = @_;
        $fields{extra} = { sent_bytes => $sent, arguments => scalar @ARGV } if exists $fields{seconds};
        $answer->(%fields);
    };
}
$actions{ceilings} = sub {
    my ($request) = @_;
    my %rates = ( fma_gflops => 1000, $request->{bytes} ? ( fma_host_gflops => 2000, read_gbytes_per_s => 3000 ) : () );
    $rates{fma_gflops} = undef if $request->{compute} ne 'f32' || $request->{seconds} <= 0;
    answer(%rates);
};
serve();
