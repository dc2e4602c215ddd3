# Kernel flash with other sizes of blocks, for the experiment tiles: kernels/flash/flash.c once per size, as
# kernels of their own that are found by name but not listed.  tiles_list.h: TILE(keys, queries)
# per line.  The sizes are those of the avx512 variant, whose tiles have 32 queries; in builds in which
# nothing is measured, with sanitizers and that of CI with Clang, only some.
#
# They are a module beside the program, attnbench_tiles.so, which a worker loads when it needs one
# of them: a build of the program alone does not compile them.
option(ATTNBENCH_FEW_TILES "build few sizes for the experiment tiles" ${ATTNBENCH_SANITIZE})
set(tile_keys 32 64 128 256)
set(tile_tiles 1 2 4 8)
if(ATTNBENCH_FEW_TILES)
  set(tile_keys 64 128)
  set(tile_tiles 1 4)
endif()

add_library(attnbench_tiles MODULE)
target_link_libraries(attnbench_tiles PRIVATE attnbench_options PkgConfig::JANSSON
                                              OpenMP::OpenMP_C m)
set_target_properties(attnbench_tiles PROPERTIES
  PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

set(tile_entries "")
foreach(keys IN LISTS tile_keys)
  foreach(tiles IN LISTS tile_tiles)
    math(EXPR queries "32 * ${tiles}")
    set(name flash_k${keys}_q${queries})
    attn_per_isa(attnbench_tiles ${PROJECT_SOURCE_DIR}/kernels/flash/flash.c ATTN_KERNEL
                 tile_${name} avx512 BUILT built LINK OpenMP::OpenMP_C
                 DEFINE FLASH_NAME="${name}" FLASH_KEYS=${keys} FLASH_TILES=${tiles})
    if(built)
      string(APPEND tile_entries "TILE(${keys}, ${queries})\n")
    endif()
  endforeach()
endforeach()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tiles_list.h CONTENT "${tile_entries}")
