"""Print the symbols of the stable ABI in the form from which `zig dlltool` makes python3.lib."""

from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion

OLDEST = PyVersion(3, 12)

print("LIBRARY python3.dll", "EXPORTS", sep="\n")
for symbol in sorted(
    symbol.name for symbol, function in FUNCTIONS.items() if function.added <= OLDEST
):
    print(symbol)
for symbol in sorted(symbol.name for symbol, data in DATAS.items() if data.added <= OLDEST):
    print(symbol, "DATA")
