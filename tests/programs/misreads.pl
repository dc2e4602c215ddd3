#!/usr/bin/perl
# Is honest, but misreads the operand that its argument names.
use strict;
use warnings;
use FindBin;
require "$FindBin::Bin/honest.pl";

my %ways = (
    sinks         => sub { },                                        # ignored
    slopes        => sub { map { -$_ } @_ },                         # of the other sign
    block_table   => sub { ( @_[ 1 .. $#_ ], $_[0] ) },              # one entry off
    kv_lens       => sub { map { $_ > 1 ? $_ - 1 : $_ } @_ },        # without the last key
    cu_seqlens_kv => sub { ( $_[0], map { $_ + 1 } @_[ 1 .. $#_ ] ) },    # from the second key on
    k_scale       => sub { (1) x @_ },                               # not applied
);
my $operand = $ARGV[0];
{
    no warnings 'redefine';
    my $load = \&load;
    *load = sub {
        my $numbers = $load->(@_);
        return $numbers if !$numbers || $_[0] !~ /^$operand\./;
        my @wrong = $ways{$operand}->(@$numbers);
        return @wrong ? \@wrong : undef;
    };
}
serve();
