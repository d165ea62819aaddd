#!/bin/bash -eu
# Builds the fuzz targets in OSS-Fuzz's image: seeds with ordinary kernels, then targets with sanitized ones.
env -u CFLAGS -u CXXFLAGS pip3 install '.[cli]' -r fuzz/requirements.txt
python3 fuzz/seeds.py "$WORK/seeds"
pip3 install --force-reinstall --no-deps .

for name in $(python3 -m fuzz --list); do
  cat > "$SRC/$name.py" << END
import sys
sys.path.insert(0, "$PWD/fuzz")
sys.argv.insert(1, "$name")
import targets
targets.main()
END
  compile_python_fuzzer "$SRC/$name.py" --paths fuzz --collect-all hedgerow
  zip -qj "$OUT/${name}_seed_corpus.zip" "$WORK/seeds/$name"/*
  cp "$WORK/seeds/$name.dict" "$OUT/"
done
