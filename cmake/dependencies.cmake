# What the build needs, each probed with a message that says what to install.

function(attnbench_require what found debian)
  if(NOT ${found})
    message(FATAL_ERROR "${what} not found. Debian and Ubuntu: apt-get install ${debian} "
                        "(scripts/setup installs everything)")
  endif()
endfunction()

find_package(PkgConfig)
attnbench_require("pkg-config" PKG_CONFIG_FOUND pkg-config)
find_package(OpenMP COMPONENTS C)
attnbench_require("OpenMP for ${CMAKE_C_COMPILER_ID}" OpenMP_C_FOUND "gcc (or libomp-dev for Clang)")
pkg_check_modules(HWLOC IMPORTED_TARGET hwloc)
attnbench_require("hwloc" HWLOC_FOUND libhwloc-dev)
pkg_check_modules(JANSSON IMPORTED_TARGET jansson>=2.12)
attnbench_require("jansson >= 2.12" JANSSON_FOUND libjansson-dev)
pkg_check_modules(LIBMD IMPORTED_TARGET libmd) # SHA-256 of plug-ins
attnbench_require("libmd" LIBMD_FOUND libmd-dev)
pkg_check_modules(XXHASH IMPORTED_TARGET libxxhash) # of operands and results
attnbench_require("xxHash" XXHASH_FOUND libxxhash-dev)

# CBLAS: the OpenMP build of OpenBLAS where there is one, because its pthreads build starts
# threads as soon as it is loaded, also in the parent process that must have none.
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas-openmp openblas blis)
find_library(CBLAS_LIBRARY NAMES openblas blis cblas PATH_SUFFIXES openblas-openmp blis-openmp)
if(CBLAS_INCLUDE_DIR AND CBLAS_LIBRARY)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  target_link_libraries(CBLAS::CBLAS INTERFACE ${CBLAS_LIBRARY})
  target_include_directories(CBLAS::CBLAS INTERFACE ${CBLAS_INCLUDE_DIR})
endif()
attnbench_require("CBLAS (OpenBLAS or BLIS)" CBLAS_LIBRARY libopenblas-openmp-dev)

# oneDNN, optional: headers of any 3.x from 3.2 on, in DNNL_ROOT or where scripts/rivals/setup puts
# them.  Its library is loaded when one of its kernels runs.
set(ATTNBENCH_DATA $ENV{XDG_DATA_HOME})
if(NOT ATTNBENCH_DATA)
  set(ATTNBENCH_DATA $ENV{HOME}/.local/share)
endif()
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl_graph.h
          HINTS ${DNNL_ROOT} $ENV{DNNL_ROOT} ${ATTNBENCH_DATA}/attnbench/rivals/onednn
          PATH_SUFFIXES include)
if(NOT DNNL_INCLUDE_DIR)
  message(STATUS "oneDNN's headers not found: its kernels will be unavailable "
                 "(scripts/rivals/setup onednn, or -DDNNL_ROOT=FOLDER)")
endif()

# MPI, optional: any that CMake finds.  Only the program of a rank is linked with it.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(MPI COMPONENTS C)
endif()
if(NOT MPI_C_FOUND)
  message(STATUS "MPI not found: kernel ring will be unavailable (Debian and Ubuntu: apt-get install "
                 "libopenmpi-dev openmpi-bin)")
endif()
