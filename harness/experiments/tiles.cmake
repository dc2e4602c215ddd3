# Kernel flash with other sizes of blocks, for the experiment tiles: kernels/flash/flash.c once per size, as
# kernels of their own that are found by name but not listed.  tiles_list.h: TILE(keys, queries)
# per line.  The sizes are those of the avx512 variant, whose tiles have 32 queries; with sanitizers,
# under which nobody measures, only some.
#
# They are a module beside the program, attnbench_tiles.so, which a worker loads that is asked for one
# of them: who builds the program alone does not wait for them.
set(tile_keys 32 64 128 256)
set(tile_tiles 1 2 4 8)
if(ATTNBENCH_SANITIZE)
  set(tile_keys 64 128)
  set(tile_tiles 1 4)
endif()

add_library(attnbench_tiles MODULE)
target_link_libraries(attnbench_tiles PRIVATE attnbench_options PkgConfig::JANSSON
                                              OpenMP::OpenMP_C m)
set_target_properties(attnbench_tiles PROPERTIES
  PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

set(tile_entries "")
attn_isa_compiles(avx512 compiles)
if(compiles)
  foreach(keys IN LISTS tile_keys)
    foreach(tiles IN LISTS tile_tiles)
      math(EXPR queries "32 * ${tiles}")
      set(name flash_k${keys}_q${queries})
      add_library(tile_${name} OBJECT ${PROJECT_SOURCE_DIR}/kernels/flash/flash.c)
      target_compile_options(tile_${name} PRIVATE ${ATTN_FLAGS_avx512})
      target_compile_definitions(tile_${name} PRIVATE
        ATTN_KERNEL=tile_${name} ATTN_KERNEL_ISA=ATTN_ISA_AVX512 FLASH_NAME="${name}"
        FLASH_KEYS=${keys} FLASH_TILES=${tiles})
      target_include_directories(tile_${name} PRIVATE ${PROJECT_SOURCE_DIR}/kernels)
      target_link_libraries(tile_${name} PRIVATE attnbench_options OpenMP::OpenMP_C)
      set_target_properties(tile_${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
                                                    POSITION_INDEPENDENT_CODE ON)
      target_sources(attnbench_tiles PRIVATE $<TARGET_OBJECTS:tile_${name}>)
      string(APPEND tile_entries "TILE(${keys}, ${queries})\n")
    endforeach()
  endforeach()
endif()
file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tiles_list.h CONTENT "${tile_entries}")
