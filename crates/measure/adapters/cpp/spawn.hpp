// Creation of threads: one after another, each joined before the next.
#pragma once

template <class Thread> void spawn(Pass &pass) {
    pass.events.clear(); // all times have names
    auto later = static_cast<std::size_t>(pass.count) - 1;
    for (auto name : {"cost", "latency", "join"}) pass.named[name].resize(later);
    pass.named["first"].resize(1);
    pass.roles[0] = [&pass, &cost = pass.named["cost"], &latency = pass.named["latency"], &join = pass.named["join"]] {
        auto gap = static_cast<double>(pass.option("gap_ns"));
        pass.receive([&](int k) {
            auto length = static_cast<std::int64_t>(gap * (0.75 + pass.number(k) / 33554432.0));
            for (std::int64_t paused = now_ns(); now_ns() - paused < length;) hint();
            std::int64_t began = 0; // written by the new thread and read after its join, which orders both
            std::uint32_t number = 0;
            auto before = now_ns();
            Thread created([&] { began = now_ns(), number = pass.number(k); });
            auto returned = now_ns();
            created.join();
            auto ended = now_ns();
            if (k == 0) pass.named["first"][0] = began - before;
            else cost[k - 1] = returned - before, latency[k - 1] = began - before, join[k - 1] = ended - before;
            return number;
        });
    };
}
