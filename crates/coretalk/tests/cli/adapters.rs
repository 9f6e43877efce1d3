//! `adapters`: messages about invalid and faulty adapters. Tests in coretalk-measure cover each kind of fault.

use super::adapted::{command, listed, write_list};
use super::tool::{Tool, flat, said};

#[test]
fn a_program_that_is_no_adapter_is_refused_with_what_is_missing() {
    let tool = Tool::new();
    let hello =
        "`sh` is no adapter: the first line of `describe` is \"hello\", and has to be `coretalk-adapter 1`";
    for (words, code, part) in [
        (&["./not-there"][..], 4, "`not-there` is no adapter: `./not-there` could not be started"),
        (&["sh adapter.sh"], 4, "write the program and its arguments as separate words"),
        (&["-q", "sh", "-c", "echo hello"], 4, hello),
        (&["--cpus", "4095", "sh"], 3, "CPU 4095 is not allowed to this process"),
    ] {
        tool.refused(&[&["adapters", "check"], words].concat(), code, part);
    }
}

#[test]
fn the_screen_lists_the_faults_of_an_adapter() {
    let tool = Tool::new();
    tool.write(
        "adapter.sh",
        "if [ \"$1\" = describe ]; then\n\
         printf 'coretalk-adapter 1\\nruntime Shell 1\\nqueue ring payload=u64,string capacity=any\\n'\n\
         else\nwhile read line; do printf 'role 0 %s\\nrole 1 %s\\n' $$ $$; done\nfi\n",
    );
    let output = tool.call(&["adapters", "check", "sh", "adapter.sh"]);
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("checking: queue ring of string"), "{}", output.err);
    let screen = flat(&output.out);
    for part in [
        "sh · Shell 1 · starts in",
        "It does not conform: 3 things wrong.",
        "queue ring of u64: two roles printed thread",
        "each needs a thread of its own",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}

#[test]
fn the_list_names_available_and_missing_adapters_and_the_users_file() {
    let tool = Tool::new();
    let list = listed("own", "own.sh");
    let folder = write_list(&tool, &list);
    tool.write(folder.join("own.sh"), "printf 'coretalk-adapter 1\\nruntime Shell 1\\nwait look,sleep\\n'\n");
    // Without a compiler in PATH, none of the built-in adapters can be built.
    let path = tool.path().join("nothing");
    let call = || said(command(&tool, &["adapters", "-q"]).env("PATH", &path).output().unwrap());
    let listed = call();
    assert_eq!((listed.code, listed.err.as_str()), (0, ""));
    let out = flat(&listed.out);
    for part in [
        "own Shell 1",
        "wait --strategy own:look,own:sleep",
        "java: not installed: java, javac",
        "go: not installed: go",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    write_list(&tool, &list.replace("run", "start"));
    let refused = call();
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("adapters.toml: failed to read a list of adapters"), "{}", refused.err);
}
