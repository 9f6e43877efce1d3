import pytest

MACHINE = {"machine": "sim:chiplet-16-smt", "seed": 1}


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    return str(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def latency(store):
    import coretalk as ct

    return ct.run("latency", cpus="0-2,8,16", store=store, progress=False, **MACHINE)


@pytest.fixture(scope="session")
def queues(store):
    import coretalk as ct

    options = {"cpus": [0, 1, 8], "capacity": [1, 10], "queue": ["spsc", "mutex"], "budget": "5s"}
    return ct.run("queue", store=store, progress=False, **options, **MACHINE)
