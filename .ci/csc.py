"""Compiles C# where .NET is there without its SDK: Roslyn's libraries, called through pythonnet.

usage: csc.py DOTNET_ROOT ROSLYN OUT SOURCE…
ROSLYN is a folder with Microsoft.CodeAnalysis.dll and Microsoft.CodeAnalysis.CSharp.dll. Writes OUT/adapter.dll and the
configuration that `dotnet OUT/adapter.dll` reads. Where an SDK is installed, `dotnet build` does the same.
"""

import json
import pathlib
import sys

root, roslyn, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
sources = [pathlib.Path(argument) for argument in sys.argv[4:]]
framework = max((root / "shared/Microsoft.NETCore.App").iterdir(), key=lambda folder: [int(n) for n in folder.name.split(".")])
config = {
    "tfm": f"net{framework.name.rsplit('.', 1)[0]}",
    "framework": {"name": "Microsoft.NETCore.App", "version": framework.name},
    # Without ICU, which such machines lack; nothing here depends on a culture.
    "configProperties": {"System.Globalization.Invariant": True},
}
out.mkdir(parents=True, exist_ok=True)
(out / "adapter.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": config}))

from clr_loader import get_coreclr  # noqa: E402: not before it is known which runtime
from pythonnet import load  # noqa: E402

load(get_coreclr(runtime_config=str(out / "adapter.runtimeconfig.json"), dotnet_root=str(root)))
import clr  # noqa: E402

for library in ("Microsoft.CodeAnalysis.dll", "Microsoft.CodeAnalysis.CSharp.dll"):
    clr.AddReference(str(roslyn / library))
from Microsoft.CodeAnalysis import (  # noqa: E402
    MetadataReference,
    NullableContextOptions,
    OptimizationLevel,
    OutputKind,
    SyntaxTree,
)
from Microsoft.CodeAnalysis.CSharp import CSharpCompilation, CSharpCompilationOptions, CSharpSyntaxTree  # noqa: E402
from System import Array  # noqa: E402
from System.IO import File  # noqa: E402

trees = [CSharpSyntaxTree.ParseText(source.read_text()) for source in sources]


def managed(library: pathlib.Path) -> bool:
    return library.name.startswith(("System.", "Microsoft.", "netstandard", "mscorlib")) and ".Native." not in library.name


references = [MetadataReference.CreateFromFile(str(library)) for library in framework.glob("*.dll") if managed(library)]
options = CSharpCompilationOptions(OutputKind.ConsoleApplication)
options = options.WithOptimizationLevel(OptimizationLevel.Release).WithNullableContextOptions(NullableContextOptions.Enable)
compilation = CSharpCompilation.Create(
    "adapter", Array[SyntaxTree](trees), Array[MetadataReference](references), options
)
stream = File.Create(str(out / "adapter.dll"))
result = compilation.Emit(stream)
stream.Dispose()
for line in result.Diagnostics:
    if not result.Success or "warning" in str(line):
        print(line)
sys.exit(0 if result.Success else 1)
