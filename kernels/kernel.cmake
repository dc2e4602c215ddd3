# What is compiled once per ISA: kernels, and whatever else picks its code by ISA when it runs.

include(CheckCSourceCompiles)
include(CheckSymbolExists)

# The one place that knows compiler flags per ISA.  -mprefer-vector-width: GCC and Clang would
# otherwise split autovectorised loops of the avx512 variants into halves.
set(ATTN_FLAGS_baseline "")
set(ATTN_FLAGS_neon "")
set(ATTN_FLAGS_avx2 -march=x86-64-v3)
set(ATTN_FLAGS_avx512 -march=x86-64-v4 -mprefer-vector-width=512)
set(ATTN_FLAGS_avx512_bf16 -march=x86-64-v4 -mavx512bf16 -mavx512vbmi -mprefer-vector-width=512)
set(ATTN_FLAGS_avx512_fp16 -march=x86-64-v4 -mavx512fp16 -mprefer-vector-width=512)
set(ATTN_FLAGS_avx512_2fma ${ATTN_FLAGS_avx512})
set(ATTN_DEFINE_avx512_2fma VF_TWO_FMA_UNITS)
set(ATTN_FLAGS_amx -march=x86-64-v4 -mavx512bf16 -mavx512vbmi -mamx-tile -mamx-bf16 -mamx-int8
                   -mprefer-vector-width=512)
set(ATTN_DEFINE_amx "")
if(ATTNBENCH_EMULATE_AMX) # any processor has it then (tiles.h)
  set(ATTN_FLAGS_amx "")
  set(ATTN_DEFINE_amx ATTN_TILES_EMULATED)
endif()
set(ATTN_FLAGS_neon_f16 -march=armv8.2-a+fp16fml)
set(ATTN_FLAGS_neon_bf16 -march=armv8.2-a+bf16)
foreach(bits 128 256 512)
  set(ATTN_FLAGS_sve${bits} -march=armv8.2-a+sve -msve-vector-bits=${bits})
endforeach()

# Lists of ISAs name those of all architectures, and each object is built for those of this one: `baseline` in
# them is what the compiler targets without flags, under the name that it has here, and `sve` one object for
# each length of its vectors.
check_symbol_exists(__aarch64__ stdint.h ATTN_AARCH64)
set(ATTN_BASELINE baseline)
set(ATTN_ISAS_ELSEWHERE neon_bf16 neon_f16 sve128 sve256 sve512)
if(ATTN_AARCH64)
  set(ATTN_BASELINE neon)
  set(ATTN_ISAS_ELSEWHERE avx2 avx512 avx512_2fma avx512_bf16 avx512_fp16)
  if(NOT ATTNBENCH_EMULATE_AMX)
    list(APPEND ATTN_ISAS_ELSEWHERE amx)
  endif()
endif()

set(ATTN_KERNELS_DIR ${CMAKE_CURRENT_LIST_DIR})

# Variants that this host cannot run may be two fifths of the time of a build.
set(ATTNBENCH_OTHER_VARIANTS optimized CACHE STRING
    "how variants are built that this host cannot run: optimized, unoptimized (shows warnings), or none")
set(ATTN_ISAS_OF_HOST "")
if(NOT ATTNBENCH_OTHER_VARIANTS MATCHES "^(optimized|unoptimized|none)$")
  message(FATAL_ERROR "ATTNBENCH_OTHER_VARIANTS=${ATTNBENCH_OTHER_VARIANTS}: optimized, unoptimized or none is known")
elseif(NOT ATTNBENCH_OTHER_VARIANTS STREQUAL optimized AND NOT CMAKE_CROSSCOMPILING)
  set(emulated "")
  if(ATTNBENCH_EMULATE_AMX)
    set(emulated -DATTN_TILES_EMULATED)
  endif()
  try_run(ran compiled SOURCES ${ATTN_KERNELS_DIR}/isa.c ${PROJECT_SOURCE_DIR}/cmake/isa_of_host.c
          CMAKE_FLAGS -DINCLUDE_DIRECTORIES=${ATTN_KERNELS_DIR} COMPILE_DEFINITIONS ${emulated}
          RUN_OUTPUT_VARIABLE ATTN_ISAS_OF_HOST NO_CACHE)
  if(NOT compiled OR NOT ran EQUAL 0)
    message(FATAL_ERROR "cmake/isa_of_host.c, which lists the instruction sets of this host, does not compile or "
                        "run: build with -D ATTNBENCH_OTHER_VARIANTS=optimized")
  endif()
endif()

# Variants whose every path others have, so that a build that looks at code alone asks nothing new of them.
set(ATTNBENCH_WITHOUT "" CACHE STRING "variants that are not built, such as flash/avx512;split_kv/avx512")

# attn_isa_elsewhere(ISA OUT): whether it is known that this host cannot run it.
function(attn_isa_elsewhere isa out)
  set(${out} FALSE PARENT_SCOPE)
  if(ATTN_ISAS_OF_HOST AND NOT isa IN_LIST ATTN_ISAS_OF_HOST)
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

function(attn_isa_compiles isa out)
  attn_isa_elsewhere(${isa} elsewhere)
  if(isa IN_LIST ATTN_ISAS_ELSEWHERE OR (elsewhere AND ATTNBENCH_OTHER_VARIANTS STREQUAL none))
    set(${out} FALSE PARENT_SCOPE)
    return()
  endif()
  string(REPLACE ";" " " flags "${ATTN_FLAGS_${isa}}")
  set(CMAKE_REQUIRED_FLAGS "${flags} -Werror")
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("int main(void) { return 0; }" ATTN_COMPILES_${isa})
  if(NOT ATTN_COMPILES_${isa})
    get_property(said GLOBAL PROPERTY ATTN_SAID_${isa})
    if(NOT said)
      message(STATUS "Compiler cannot target ${isa}: its variants are left out")
      set_property(GLOBAL PROPERTY ATTN_SAID_${isa} TRUE)
    endif()
  endif()
  set(${out} ${ATTN_COMPILES_${isa}} PARENT_SCOPE)
endfunction()

# attn_per_isa(TARGET SOURCE MACRO PREFIX ISA...): compiles SOURCE once per ISA into TARGET, each as an
# OBJECT target with that ISA's flags.  An object has one external symbol, PREFIX_isa; MACRO stands
# for it, and MACRO_ISA for its enum attn_isa.  The OBJECT target has the symbol's name.
#
#   BUILT OUT         set to the ISAs that were built: the compiler may not be able to target all
#   LIST FILE         a header to write into the binary folder: MACRO(isa, ISA) for each of them
#   DEFINE NAME=X...  more definitions
#   LINK TARGET...    libraries that the objects need
#   INCLUDE FOLDER... of libraries that they do not link
#   F64               a second object per ISA, PREFIX_isa_f64, which computes in double
#                     (ATTN_COMPUTE_F64); MACRO_F64 stands for its symbol in the first
function(attn_per_isa target source macro prefix)
  cmake_parse_arguments(arg "F64" "BUILT;LIST" "DEFINE;LINK;INCLUDE" ${ARGN})
  set(built "")
  set(lines "")
  list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^baseline$" ${ATTN_BASELINE})
  list(TRANSFORM arg_UNPARSED_ARGUMENTS REPLACE "^sve$" "sve128;sve256;sve512")
  foreach(isa IN LISTS arg_UNPARSED_ARGUMENTS)
    attn_isa_compiles(${isa} compiles)
    if(NOT compiles)
      continue()
    endif()
    string(TOUPPER ${isa} ISA)
    attn_isa_elsewhere(${isa} elsewhere)
    set(objects ${prefix}_${isa})
    if(arg_F64)
      list(APPEND objects ${prefix}_${isa}_f64)
    endif()
    foreach(object IN LISTS objects)
      add_library(${object} OBJECT ${source})
      target_compile_options(${object} PRIVATE ${ATTN_FLAGS_${isa}})
      if(ATTNBENCH_FUZZ OR elsewhere) # nothing is computed, and unrolled code takes minutes to optimize
        target_compile_options(${object} PRIVATE -O0)
      endif()
      target_compile_definitions(${object} PRIVATE ${macro}=${object} ${macro}_ISA=ATTN_ISA_${ISA}
                                                   ${ATTN_DEFINE_${isa}} ${arg_DEFINE})
      target_include_directories(${object} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${ATTN_KERNELS_DIR})
      target_include_directories(${object} SYSTEM PRIVATE ${arg_INCLUDE})
      target_link_libraries(${object} PRIVATE attnbench_options ${arg_LINK})
      set_target_properties(${object} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
                                                 POSITION_INDEPENDENT_CODE ON)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
      set_property(GLOBAL APPEND PROPERTY ATTN_OBJECTS "${object}=$<TARGET_OBJECTS:${object}>")
    endforeach()
    if(arg_F64)
      target_compile_definitions(${prefix}_${isa} PRIVATE ${macro}_F64=${prefix}_${isa}_f64)
      target_compile_definitions(${prefix}_${isa}_f64 PRIVATE ATTN_COMPUTE_F64)
    endif()
    list(APPEND built ${isa})
    string(APPEND lines "${macro}(${isa}, ${ISA})\n")
  endforeach()
  if(arg_BUILT)
    set(${arg_BUILT} ${built} PARENT_SCOPE)
  endif()
  if(arg_LIST)
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${arg_LIST} CONTENT "${lines}")
  endif()
endfunction()

# attn_kernel(NAME ISA...): compiles kernels/NAME.c, or NAME/NAME.c of a kernel with a folder, once
# per ISA, and adds the variants to the registry.
#
#   SOURCE FILE       another file, of a kernel that is compiled for several libraries
#   DEFINE NAME=X...  more definitions
#   LINK TARGET...    libraries that the objects need
#   INCLUDE FOLDER... of libraries that they do not link
#   F64               compiled once more, for problems of double (shared/either.h)
function(attn_kernel name)
  cmake_parse_arguments(arg "F64" "SOURCE" "DEFINE;LINK;INCLUDE" ${ARGN})
  get_property(written GLOBAL PROPERTY ATTN_REGISTRY_WRITTEN)
  if(written)
    message(FATAL_ERROR "attn_kernel(${name} ...) stands behind attn_write_registry(), and would be in no list: "
                        "move its line in front of that one")
  endif()
  set(source ${name}.c)
  if(arg_SOURCE)
    set(source ${arg_SOURCE})
  elseif(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    set(source ${name}/${name}.c)
  endif()
  set(f64 "")
  if(arg_F64)
    set(f64 F64)
  endif()
  set(isas ${arg_UNPARSED_ARGUMENTS})
  foreach(variant IN LISTS ATTNBENCH_WITHOUT)
    if(variant MATCHES "^${name}/(.+)$")
      list(REMOVE_ITEM isas ${CMAKE_MATCH_1})
    endif()
  endforeach()
  attn_per_isa(attention ${source} ATTN_KERNEL attn_kernel_${name} ${isas}
               ${f64} BUILT built DEFINE ${arg_DEFINE} INCLUDE ${arg_INCLUDE}
               LINK OpenMP::OpenMP_C ${arg_LINK})
  foreach(isa IN LISTS built)
    set_property(GLOBAL APPEND_STRING PROPERTY ATTN_REGISTRY "ENTRY(${name}, ${isa})\n")
    set_property(GLOBAL APPEND PROPERTY ATTN_VARIANTS "${name}/${isa}")
  endforeach()
  if(arg_LINK)
    target_link_libraries(attention PRIVATE ${arg_LINK})
  endif()
endfunction()

# Writes the registry that registry.c includes; call after the last attn_kernel().
function(attn_write_registry)
  get_property(entries GLOBAL PROPERTY ATTN_REGISTRY)
  set_property(GLOBAL PROPERTY ATTN_REGISTRY_WRITTEN ON)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/registry_list.h CONTENT "${entries}")
endfunction()
