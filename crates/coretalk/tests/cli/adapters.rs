//! `adapters`: messages about invalid and faulty adapters. Tests in coretalk-measure cover each kind of fault.

use super::tool::{Tool, flat, said};

#[test]
fn a_program_that_is_no_adapter_is_refused_with_what_is_missing() {
    let tool = Tool::new();
    let output = tool.call(&["adapters", "check", "./not-there"]);
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(
        output.err.contains("`not-there` is no adapter: `./not-there` could not be started"),
        "{}",
        output.err
    );
    let output = tool.call(&["adapters", "check", "sh adapter.sh"]);
    assert_eq!(output.code, 4, "{}", output.err);
    assert!(output.err.contains("write the program and its arguments as separate words"), "{}", output.err);
    let output = tool.call(&["adapters", "check", "-q", "sh", "-c", "echo hello"]);
    assert_eq!(output.code, 4, "{}", output.err);
    let expected =
        "`sh` is no adapter: the first line of `describe` is \"hello\", and has to be `coretalk-adapter 1`";
    assert!(output.err.contains(expected), "{}", output.err);
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
    assert!(output.out.contains("sh · Shell 1 · starts in"), "{}", output.out);
    assert!(output.out.contains("It does not conform: 3 things wrong."), "{}", output.out);
    let flat = flat(&output.out);
    assert!(flat.contains("queue ring of u64: two roles printed thread"), "{flat}");
    assert!(flat.contains("each needs a thread of its own"), "{flat}");
}

#[test]
fn cpus_that_may_not_be_used_are_refused() {
    let output = Tool::new().call(&["adapters", "check", "--cpus", "4095", "sh"]);
    assert_eq!(output.code, 3, "{}", output.err);
    assert!(output.err.contains("CPU 4095 is not allowed to this process"), "{}", output.err);
}

#[test]
fn the_list_names_available_and_missing_adapters_and_the_users_file() {
    let tool = Tool::new();
    std::fs::create_dir_all(tool.path().join("config/coretalk")).unwrap();
    tool.write(
        "config/coretalk/own.sh",
        "printf 'coretalk-adapter 1\\nruntime Shell 1\\nwait look,sleep\\n'\n",
    );
    let list = "[[adapter]]\nname = \"own\"\nrun = [\"/bin/sh\", \"{source}/own.sh\"]\n";
    tool.write("config/coretalk/adapters.toml", list);
    let call = || {
        let mut command = tool.command(&["adapters", "-q"]);
        command
            .env("XDG_CONFIG_HOME", tool.path().join("config"))
            .env("XDG_CACHE_HOME", tool.path().join("cache"));
        // Without a compiler in PATH, none of the built-in adapters can be built.
        said(command.env("PATH", tool.path().join("nothing")).output().unwrap())
    };
    let listed = call();
    assert_eq!((listed.code, listed.err.as_str()), (0, ""));
    let out = flat(&listed.out);
    for part in [
        "own Shell 1",
        "wait --strategy own:look,own:sleep",
        "java: not installed: java, javac",
        "go: not installed: go",
    ] {
        assert!(out.contains(part), "{part}: {}", listed.out);
    }
    tool.write("config/coretalk/adapters.toml", list.replace("run", "start"));
    let refused = call();
    assert_eq!(refused.code, 4, "{}", refused.err);
    assert!(refused.err.contains("adapters.toml: failed to read a list of adapters"), "{}", refused.err);
}
