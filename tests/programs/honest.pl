#!/usr/bin/perl
# honest: attention as it is defined, one row after the other, for docs/protocol.md.
#
# Perl's numbers are float64: its results are better than they need to be, and slow.  The programs that
# cheat beside it are this one with a part replaced.
use strict;
use warnings;
use JSON::PP;
use POSIX qw(floor);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

our %about = (
    name    => 'perl',
    summary => 'the formula in Perl',
    source  => 'the definition',
    caps    => {
        dtypes   => ['f32'],
        masks    => [ 'causal', 'causal_top_left', 'bias', 'bool' ],
        options  => ['window'],
        outputs  => [ 'o', 'lse' ],
        parallel => JSON::PP::false,
    },
);

our ( %bound, %tensors, %inputs );    # the prepared problem; name -> where the tensor lies in the file, bytes

open my $requests, '<&=', 3 or die "descriptor 3: $!";
open our $answers, '>&=', 4 or die "descriptor 4: $!";
$answers->autoflush(1);
my $file;

sub answer { print {$answers} encode_json( { protocol => 1, state => 'ok', why => undef, @_ } ), "\n" }

# ---- the file ---------------------------------------------------------------------------------

sub read_at {
    my ( $at, $bytes ) = @_;
    sysseek $file, $at, 0 or die "seek: $!";
    sysread( $file, my $data, $bytes ) == $bytes or die "read: $!";
    return $data;
}

sub read_header {
    my $length = unpack 'Q<', read_at( 0, 8 );
    my $header = decode_json read_at( 8, $length );
    %tensors = ();
    for my $name ( keys %$header ) {
        my ( $begin, $end ) = @{ $header->{$name}{data_offsets} };
        my %at = ( at => 8 + $length + $begin, bytes => $end - $begin );
        $tensors{$name} = { %at, type => $header->{$name}{dtype}, shape => $header->{$name}{shape} };
    }
}

# Its numbers; undef where the problem has no such operand.
sub load {
    my $t = $tensors{ $_[0] } or return;
    return [ unpack $t->{type} eq 'BOOL' ? 'C*' : 'f<*', read_at( $t->{at}, $t->{bytes} ) ];
}

sub store {
    my ( $name, $numbers ) = @_;
    sysseek $file, $tensors{$name}{at}, 0 or die "seek: $!";
    syswrite( $file, pack 'f<*', @$numbers ) == $tensors{$name}{bytes} or die "write: $!";
}

# ---- attention --------------------------------------------------------------------------------

# Keys [first, last] that query i sees.
sub visible {
    my ($i) = @_;
    my $s   = $bound{shape};
    my %on  = map { $_ => 1 } @{ $s->{mask} }, @{ $s->{options} };
    my $at  = $on{causal_top_left} ? $i : $i + $s->{kv_len} - $s->{q_len};
    my ( $first, $last ) = ( 0, $s->{kv_len} - 1 );
    $last = $at if ( $on{causal} || $on{causal_top_left} ) && $at < $last;
    if ( $on{window} ) {
        my ( $left, $right ) = @$s{qw(window_left window_right)};
        $last  = $at + $right if $right >= 0 && $at + $right < $last;
        $first = $at - $left  if $left >= 0  && $at - $left > $first;
    }
    return ( $first, $last );
}

# Where the rows of (b, h) begin in a tensor of so many heads, rows and columns, and how far each is from the next.
sub rows {
    my ( $b, $h, $heads, $rows, $columns ) = @_;
    return $bound{shape}{layout} eq 'bshd'
      ? ( ( $b * $rows * $heads + $h ) * $columns, $heads * $columns )
      : ( ( $b * $heads + $h ) * $rows * $columns, $columns );
}

# Where element (b, h, i, 0) of bias or mask is, and how far the next key's: dimensions of 1 are shared.
sub shared {
    my ( $name, @at ) = @_;
    my @shape = @{ $tensors{"$name.0"}{shape} };
    my $place = 0;
    $place = $place * $shape[$_] + ( $shape[$_] > 1 ? $at[$_] : 0 ) for 0 .. 2;
    return ( $place * $shape[3], $shape[3] > 1 ? 1 : 0 );
}

# The keys of [first, last] that a mask or a bias leaves, and what the bias adds to each.
sub masked {
    my ( $bias, $mask, $b, $h, $i, $first, $last ) = @_;
    my @keys = ( $first .. $last );
    my %add;
    if ($mask) {
        my ( $at, $step ) = shared( 'mask', $b, $h, $i );
        @keys = grep { $mask->[ $at + $step * $_ ] } @keys;
    }
    if ($bias) {
        my ( $at, $step ) = shared( 'bias', $b, $h, $i );
        %add  = map { $_ => $bias->[ $at + $step * $_ ] } @keys;
        @keys = grep { $add{$_} != -9**9**9 } @keys;
    }
    return ( \@keys, \%add );
}

# One row into @$o from $to on; its LSE.
sub attend {
    my ( $q, $k, $v, $bias, $mask, $o, $b, $h, $i, $to ) = @_;
    my $s = $bound{shape};
    my ( $d, $dv, $n ) = @$s{qw(qk_dim v_dim kv_len)};
    my $g = floor( $h / ( $s->{q_heads} / $s->{kv_heads} ) );
    my ( $keys, $add ) = masked( $bias, $mask, $b, $h, $i, visible($i) );
    my ( $query, $next_query ) = rows( $b, $h, $s->{q_heads}, $s->{q_len}, $d );
    my ( $key, $next_key ) = rows( $b, $g, $s->{kv_heads}, $n, $d );
    my ( $value, $next_value ) = rows( $b, $g, $s->{kv_heads}, $n, $dv );
    $query += $i * $next_query;
    my @q = @$q[ $query .. $query + $d - 1 ];
    my ( @x, $most );
    for my $j (@$keys) {
        my ( $at, $dot ) = ( $key + $j * $next_key, 0 );
        $dot += $_ * $k->[ $at++ ] for @q;
        push @x, my $x = $s->{scale} * $dot + ( $add->{$j} // 0 );
        $most = $x if !defined $most || $x > $most || $x != $x;
    }
    $most = 0 if defined $most && $most == -9**9**9;    # no key has any weight
    my @sum   = (0) x $dv;
    my $total = 0;
    for my $j (@$keys) {
        my $p  = exp( shift(@x) - $most );
        my $at = $value + $j * $next_value;
        $total += $p;
        $_ += $p * $v->[ $at++ ] for @sum;
    }
    $o->[ $to + $_ ] = $total ? $sum[$_] / $total : 0 for 0 .. $dv - 1;
    return $total ? $most + log $total : -9**9**9;
}

# One call on operands that have been loaded: ( o, lse ).
sub call {
    my @inputs = @_;
    my $s      = $bound{shape};
    my ( @o, @lse );
    for my $b ( 0 .. $s->{batch} - 1 ) {
        for my $h ( 0 .. $s->{q_heads} - 1 ) {
            my ( $to, $next ) = rows( $b, $h, $s->{q_heads}, $s->{q_len}, $s->{v_dim} );
            push @lse, attend( @inputs, \@o, $b, $h, $_, $to + $_ * $next ) for 0 .. $s->{q_len} - 1;
        }
    }
    return ( \@o, \@lse );
}

# The operands of a set, read again when they have changed.
sub operands { my ($set) = @_; return $inputs{$set} //= [ map { scalar load("$_.$set") } qw(q k v bias mask) ] }

sub leave {
    my ( $set, $o, $lse ) = @_;
    store( "o.$set",   $o )   if $tensors{"o.$set"};
    store( "lse.$set", $lse ) if $tensors{"lse.$set"};
}

# ---- requests ---------------------------------------------------------------------------------

sub cpus {
    open my $status, '<', '/proc/self/status' or die "status: $!";
    my ($list) = map { /^Cpus_allowed_list:\s*(\S+)/ ? $1 : () } <$status>;
    return map { my ( $from, $to ) = split /-/; $from .. $to // $from } split /,/, $list;
}

our %actions = (
    describe => sub { answer( kernels => [ \%about ] ) },
    prepare  => sub {
        my ($request) = @_;
        %bound = %$request;
        if ( $request->{threads} != 1 ) {
            print {$answers} '{"protocol":1,"state":"unsupported","why":"Perl has one thread"}', "\n";
            return;
        }
        if ( !$file ) {
            open $file, '+<&=', $request->{file} or die "descriptor $request->{file}: $!";
        }
        read_header();
        leave( 0, call( @{ operands(0) } ) );
        answer( threads => 1, cpus => [cpus], library => "Perl $^V" );
    },
    execute => sub {
        my $set = $_[0]{set};
        leave( $set, call( @{ operands($set) } ) );
        answer();
    },
    measure => sub {
        my ( $calls, $first ) = @{ $_[0] }{qw(calls first)};
        my $sets = $bound{sets};
        my %results;
        operands($_) for 0 .. $sets - 1;
        my $start = clock_gettime(CLOCK_MONOTONIC);
        for my $n ( 0 .. $calls - 1 ) {
            my $set = ( $first + $n ) % $sets;
            $results{$set} = [ call( @{ operands($set) } ) ];
        }
        my $seconds = clock_gettime(CLOCK_MONOTONIC) - $start;
        leave( $_, @{ $results{$_} } ) for keys %results;
        answer( seconds => $calls ? $seconds : 0 );
    },
    release => sub { %tensors = %bound = %inputs = (); answer() },
);

sub serve {
    while ( my $line = <$requests> ) {
        my $request = decode_json $line;
        my $action  = $actions{ $request->{action} };
        %inputs = () if $request->{changed} || $request->{action} eq 'prepare';
        if ( !$action ) {
            answer( state => 'failed', why => "no action $request->{action}" );
        }
        elsif ( !eval { $action->($request); 1 } ) {
            answer( state => 'failed', why => $@ =~ s/\s+$//r );
        }
    }
    return 1;
}

serve() unless caller;
1;
