// Contention on one number: what the standard library has to keep others out, or to add at once.
#pragma once

struct MutexCounter {
    std::mutex held;
    std::uint64_t number = 0;
    void add() { std::scoped_lock mine(held); number++; }
    std::uint64_t total() const { return number; }
};
struct FlagCounter { // clears before it notifies, and exchanges again after each wake-up
    std::atomic_flag taken;
    std::uint64_t number = 0;
    void add() {
        // Acquire pairs with the Release of `clear`: the holder of the flag sees the number of the one before.
        while (taken.test_and_set(memory_order_acquire)) taken.wait(true, std::memory_order_relaxed);
        number++;
        taken.clear(memory_order_release), taken.notify_one();
    }
    std::uint64_t total() const { return number; }
};
struct FetchAddCounter {
    std::atomic<std::uint64_t> number{0};
    void add() { number.fetch_add(1, std::memory_order_relaxed); } // nothing depends on the order
    std::uint64_t total() const { return number.load(); }
};
#ifndef NO_LIBATOMIC
struct alignas(16) Wide { std::uint64_t number, copy; };
struct WideCounter {
    std::atomic<Wide> both{Wide{0, 0}};
    void add() {
        Wide before = both.load();
        while (!both.compare_exchange_weak(before, Wide{before.number + 1, before.copy + 1})) {}
    }
    std::uint64_t total() const { return both.load().number; }
    std::string note() const { return std::string("atomic-16 ") + (both.is_lock_free() ? "lock-free" : "libatomic, which may lock"); }
};
#endif

// Each role adds for a tenth of the duration first, then in its window, and goes on until the windows of all are over.
template <class Counter> void contend(Pass &pass) {
    struct Shared { alignas(APART) Counter counter; alignas(APART) std::atomic<std::size_t> over{0}; };
    auto shared = std::make_shared<Shared>();
    auto threads = pass.roles.size();
    auto duration = static_cast<std::int64_t>(pass.option("duration_ns"));
    pass.shares.resize(threads);
    pass.total = [shared] { return shared->counter.total(); };
    if constexpr (requires { shared->counter.note(); }) pass.note = shared->counter.note();
    for (std::size_t me = 0; me < threads; me++) pass.roles[me] = [&pass, shared, me, threads, duration] {
        Pass::Share mine;
        std::uint64_t batch = 1;
        auto last = now_ns();
        auto add = [&](bool yields) { // about 10 us between two looks at the clock, which take 0.2 % of that
            for (std::uint64_t i = 0; i < batch; i++) shared->counter.add();
            mine.added += batch;
            auto made = batch;
            if (yields) std::this_thread::yield(); // a thread on the same CPU may not have had its window yet
            auto now = now_ns(), took = now - last;
            if (took < 5000) batch = std::min<std::uint64_t>(2 * batch, 1 << 20);
            else if (took > 20000) batch = std::max<std::uint64_t>(batch / 2, 1);
            last = now;
            return made;
        };
        for (auto until = last + duration / 10; last < until;) add(false);
        mine.begin = last = now_ns();
        do mine.operations += add(false); while (last - mine.begin < duration);
        mine.end = last;
        // Release and Acquire: a thread that sees the last window over may leave; nothing else depends on it.
        shared->over.fetch_add(1, memory_order_release);
        while (shared->over.load(memory_order_acquire) < threads) add(true);
        pass.shares[me] = mine;
    };
}
