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
        dtypes    => ['f32'],
        kv_dtypes => ['i8'],
        masks     => [ 'causal', 'causal_top_left', 'bias', 'bool' ],
        options   => [qw(window sinks alibi ragged paged packed shared_kv)],
        outputs   => [ 'o', 'lse' ],
        parallel  => JSON::PP::false,
    },
);

our ( %bound, %on, %tensors, %inputs );    # the prepared problem, its masks and options; name -> where the tensor is

my $infinity  = 9**9**9;
my @operands  = qw(q k v bias mask sinks slopes kv_lens cu_seqlens cu_seqlens_kv block_table k_scale v_scale);
my %formats   = ( F32 => 'f<*', I32 => 'l<*', I8 => 'c*', BOOL => 'C*' );

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
    return [ unpack $formats{ $t->{type} }, read_at( $t->{at}, $t->{bytes} ) ];
}

sub store {
    my ( $name, $numbers ) = @_;
    sysseek $file, $tensors{$name}{at}, 0 or die "seek: $!";
    syswrite( $file, pack 'f<*', @$numbers ) == $tensors{$name}{bytes} or die "write: $!";
}

# ---- attention --------------------------------------------------------------------------------

# A sequence: its lengths, and where its rows begin among packed ones.
sub sequence {
    my ( $x, $b ) = @_;
    my %at = ( b => $b, q_first => 0, kv_first => 0, q_len => $bound{shape}{q_len}, kv_len => $bound{shape}{kv_len} );
    for my $which ( [ 'q', $x->{cu_seqlens} ], [ 'kv', $x->{cu_seqlens_kv} ] ) {
        my ( $name, $offsets ) = @$which;
        @at{ "${name}_first", "${name}_len" } = ( $offsets->[$b], $offsets->[ $b + 1 ] - $offsets->[$b] ) if $offsets;
    }
    $at{kv_len} = $x->{kv_lens}[$b] if $x->{kv_lens};
    return \%at;
}

# Keys [first, last] that query i of a sequence sees, and the key that it stands at.
sub visible {
    my ( $at,    $i )    = @_;
    my ( $first, $last ) = ( 0, $at->{kv_len} - 1 );
    my $stand = $on{causal_top_left} ? $i : $i + $at->{kv_len} - $at->{q_len};
    $last = $stand if ( $on{causal} || $on{causal_top_left} ) && $stand < $last;
    if ( $on{window} ) {
        my ( $left, $right ) = @{ $bound{shape} }{qw(window_left window_right)};
        $last  = $stand + $right if $right >= 0 && $stand + $right < $last;
        $first = $stand - $left  if $left >= 0  && $stand - $left > $first;
    }
    return ( $first, $last, $stand );
}

# Where row (b, h, i) of q, k, v or o begins: a file has them as (B, H, S, D) or (B, S, H, D).
sub place {
    my ( $name, $b, $h, $i ) = @_;
    my @n = @{ $tensors{"$name.0"}{shape} };
    my $row = $bound{shape}{layout} eq 'bshd' ? ( $b * $n[1] + $i ) * $n[2] + $h : ( $b * $n[1] + $h ) * $n[2] + $i;
    return $row * $n[3];
}

# Where element (b, h, i, 0) of an operand that is broadcast is, and how far the next one: dimensions of 1 are shared.
sub shared {
    my ( $name, @at ) = @_;
    my @shape = @{ $tensors{"$name.0"}{shape} };
    my $place = 0;
    $place = $place * $shape[$_] + ( $shape[$_] > 1 ? $at[$_] : 0 ) for 0 .. 2;
    return ( $place * $shape[3], $shape[3] > 1 ? 1 : 0 );
}

# A sequence's rows of k or v for KV head g: out of their pages, times their scales.
sub rows {
    my ( $x, $name, $at, $g ) = @_;
    my ( $b, $size ) = ( $at->{b}, $bound{shape}{page_size} );
    my $from  = $on{shared_kv} ? 'k' : $name;
    my $width = $bound{shape}{ $name eq 'k' ? 'qk_dim' : 'v_dim' };
    my $table = $x->{block_table} && ( $tensors{'block_table.0'}{shape}[1] );
    my @rows;
    for my $j ( 0 .. $at->{kv_len} - 1 ) {
        my $place =
            $table                ? place( $from, $x->{block_table}[ $b * $table + floor( $j / $size ) ], $g, $j % $size )
          : $x->{cu_seqlens_kv} ? place( $from, 0, $g, $at->{kv_first} + $j )
          :                         place( $from, $b, $g, $j );
        my @row = @{ $x->{$from} }[ $place .. $place + $width - 1 ];
        if ( my $scales = $x->{"${name}_scale"} ) {
            my @key = $x->{cu_seqlens_kv} ? ( 0, $g, $at->{kv_first} + $j ) : ( $b, $g, $j );
            my ( $scale, $step ) = shared( "${name}_scale", @key );
            $row[$_] *= $scales->[ $scale + $step * $_ ] for 0 .. $width - 1;
        }
        push @rows, \@row;
    }
    return \@rows;
}

# The keys that query i sees, and what is added to the score of each.
sub seen {
    my ( $x, $at, $h, $i ) = @_;
    my ( $first, $last, $stand ) = visible( $at, $i );
    my @keys  = ( $first .. $last );
    my $slope = $x->{slopes} ? $x->{slopes}[$h] : 0;
    my %add   = map { $_ => $slope * ( $_ - $stand ) } @keys;
    if ( $x->{mask} ) {
        my ( $place, $step ) = shared( 'mask', $at->{b}, $h, $i );
        @keys = grep { $x->{mask}[ $place + $step * $_ ] } @keys;
    }
    if ( $x->{bias} ) {
        my ( $place, $step ) = shared( 'bias', $at->{b}, $h, $i );
        $add{$_} += $x->{bias}[ $place + $step * $_ ] for @keys;
        @keys = grep { $add{$_} != -$infinity } @keys;
    }
    return ( \@keys, \%add );
}

# One row of query i of head h into @$o from $to on; its LSE.  @$k and @$v are the rows of its KV head.
sub attend {
    my ( $x, $k, $v, $at, $h, $i, $o, $to ) = @_;
    my $s     = $bound{shape};
    my $row   = $at->{q_first} + $i;
    my $query = place( 'q', $on{packed} ? 0 : $at->{b}, $h, $row );
    my @q     = @{ $x->{q} }[ $query .. $query + $s->{qk_dim} - 1 ];
    my ( $keys, $add ) = seen( $x, $at, $h, $i );
    my $sink = $x->{sinks} ? $x->{sinks}[$h] : -$infinity;
    my ( @x, $most );
    $most = $sink if $sink != -$infinity;    # it may be NaN
    for my $j (@$keys) {
        my ( $key, $n, $dot ) = ( $k->[$j], 0, 0 );
        $dot += $_ * $key->[ $n++ ] for @q;
        push @x, my $score = $s->{scale} * $dot + $add->{$j};
        $most = $score if !defined $most || $score > $most || $score != $score;
    }
    $most //= 0;
    $most = 0 if $most == -$infinity;    # no key has any weight
    my @sum   = (0) x $s->{v_dim};
    my $total = $sink != -$infinity ? exp( $sink - $most ) : 0;
    for my $j (@$keys) {
        my ( $p, $value, $n ) = ( exp( shift(@x) - $most ), $v->[$j], 0 );
        $total += $p;
        $_ += $p * $value->[ $n++ ] for @sum;
    }
    $o->[ $to + $_ ] = $total ? $sum[$_] / $total : 0 for 0 .. $#sum;
    return $total ? $most + log $total : -$infinity;
}

# As many zeros as a result has elements: rows that no sequence has stay so.
sub zeros {
    my $t = $tensors{"$_[0].0"} or return;
    my $n = 1;
    $n *= $_ for @{ $t->{shape} };
    return (0) x $n;
}

# One call on operands that have been loaded: ( o, lse ).
sub call {
    my ($x)  = @_;
    my $s    = $bound{shape};
    my @o    = zeros('o');
    my @lse  = zeros('lse');
    my $rows = $on{packed} ? $tensors{'q.0'}{shape}[ $s->{layout} eq 'bshd' ? 1 : 2 ] : $s->{q_len};
    for my $b ( 0 .. $s->{batch} - 1 ) {
        my $at = sequence( $x, $b );
        my $in = $on{packed} ? 0 : $b;
        for my $h ( 0 .. $s->{q_heads} - 1 ) {
            my $g = floor( $h / ( $s->{q_heads} / $s->{kv_heads} ) );
            my ( $k, $v ) = map { rows( $x, $_, $at, $g ) } qw(k v);
            for my $i ( 0 .. $at->{q_len} - 1 ) {
                my $row = $at->{q_first} + $i;
                my $to  = $tensors{'o.0'} ? place( 'o', $in, $h, $row ) : 0;
                $lse[ ( $in * $s->{q_heads} + $h ) * $rows + $row ] = attend( $x, $k, $v, $at, $h, $i, \@o, $to );
            }
        }
    }
    return ( \@o, \@lse );
}

# The operands of a set by their names, read again when they have changed.
sub operands { my ($set) = @_; return $inputs{$set} //= { map { $_ => scalar load("$_.$set") } @operands } }

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
        %on = map { $_ => 1 } @{ $bound{shape}{mask} }, @{ $bound{shape}{options} };
        if ( $request->{threads} != 1 ) {
            print {$answers} '{"protocol":1,"state":"unsupported","why":"Perl has one thread"}', "\n";
            return;
        }
        if ( !$file ) {
            open $file, '+<&=', $request->{file} or die "descriptor $request->{file}: $!";
        }
        read_header();
        leave( 0, call( operands(0) ) );
        answer( threads => 1, cpus => [cpus], library => "Perl $^V" );
    },
    execute => sub {
        my $set = $_[0]{set};
        leave( $set, call( operands($set) ) );
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
            $results{$set} = [ call( operands($set) ) ];
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
