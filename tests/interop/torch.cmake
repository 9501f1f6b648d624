# A script of torch.distributed, which knows nothing of its launcher. scripts/test --all installs torch for it.
find_file(SCELA_TORCH torch/__init__.py PATHS /usr/lib/python3/dist-packages NO_DEFAULT_PATH)
if(NOT SCELA_TORCH)
  message(STATUS "interop: the script of torch is left out, as python3-torch is not installed (scripts/install-packages torch)")
  return()
endif()
set(torch_line "rank ([0-7]) of 8 local [0-3] sum 36 same weights True")
interop_test("a script of torch adds up and trains by gloo, 2 nodes of 4"
  CHECK --count 8 ${torch_line} --quiet
  RUN --sim-nodes 2 --ppn 4 --pmi none --env-style torch /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/programs/torch/torch_gloo.py)
