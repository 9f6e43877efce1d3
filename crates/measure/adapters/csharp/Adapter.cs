// The adapter for C#: what .NET has for threads that hand something to each other. docs/adapters.md has the protocol.
//
// Queues, messages and ways of waiting are structs behind type parameters: the runtime compiles the loops for each of them
// by itself, as in a program that has only one.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics.X86;
using System.Threading;
using System.Threading.Channels;

/// <summary>What was asked for, and what the roles say.</summary>
sealed class Pass {
    public string Id = "", Kind = "", Name = "";
    public readonly Dictionary<string, string> Options = new();
    public int Count, Capacity;
    public bool Timed;
    public readonly uint[] Numbers = new uint[1024];
    public long[] Events = Array.Empty<long>();
    public ulong Good, Sum;
    public readonly long[] Begun = new long[2], Ended = new long[2];
    public long Option(string key) => Options.TryGetValue(key, out var text) ? long.Parse(text) : 0;
}

// ---- queues
interface IMessage<T> { T Make(uint number); uint Read(T message); }
struct Number : IMessage<uint> { public uint Make(uint number) => number; public uint Read(uint message) => message; }
struct Text : IMessage<string> {
    public string Make(uint number) => number.ToString();
    public uint Read(string message) => uint.Parse(message);
}
interface IRing<T> { void Open(int capacity); void Put(T message); T Take(); }

/// <summary>The program that the document about Zen 5 and C# describes: an array between two semaphores.</summary>
struct SemaphoreRing<T> : IRing<T> {
    SemaphoreSlim free, items;
    T[] slots;
    int writer, reader;
    public void Open(int capacity) => (free, items, slots, writer, reader) = (new(capacity), new(0), new T[capacity], -1, -1);
    public void Put(T message) {
        free.Wait();
        slots[Interlocked.Increment(ref writer) % slots.Length] = message;
        items.Release();
    }
    public T Take() {
        items.Wait();
        var message = slots[Interlocked.Increment(ref reader) % slots.Length];
        free.Release();
        return message;
    }
}
/// <summary>Threads that block on a channel, which is made for tasks: a thread of the pool continues a waiter.</summary>
struct ChannelRing<T> : IRing<T> {
    Channel<T> channel;
    public void Open(int capacity) =>
        channel = Channel.CreateBounded<T>(new BoundedChannelOptions(capacity) { SingleReader = true, SingleWriter = true });
    public void Put(T message) { if (!channel.Writer.TryWrite(message)) channel.Writer.WriteAsync(message).AsTask().Wait(); }
    public T Take() => channel.Reader.TryRead(out var message) ? message : channel.Reader.ReadAsync().AsTask().Result;
}
struct CollectionRing<T> : IRing<T> {
    BlockingCollection<T> collection;
    public void Open(int capacity) => collection = new(capacity);
    public void Put(T message) => collection.Add(message);
    public T Take() => collection.Take();
}

// ---- ways of waiting: what is done between two looks
interface IStrategy { void Rest(); }
struct Busy : IStrategy { public void Rest() { } }
struct SpinOnce : IStrategy { public void Rest() => Thread.SpinWait(1); }
struct Fence : IStrategy { public void Rest() => Thread.MemoryBarrier(); }
struct Pause : IStrategy { public void Rest() => X86Base.Pause(); }
struct Yield : IStrategy { public void Rest() => Thread.Yield(); }
/// <summary>A turn and a number on one line, with nothing near them; odd turns are role 1's.</summary>
[StructLayout(LayoutKind.Explicit, Size = 512)]
struct Turn {
    [FieldOffset(256)] public volatile int At;
    [FieldOffset(264)] public uint Number;
    [FieldOffset(268)] public uint Answer;
}

// ---- the loops
abstract class Roles {
    public abstract void First(Pass pass);
    /// <summary>Nothing where one role does it all.</summary>
    public virtual void Second(Pass pass) { }
    public virtual int Count => 2;
    public static long Ns() => Stopwatch.Frequency == 1_000_000_000
        ? Stopwatch.GetTimestamp() : (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));
    /// <summary>Looks for what the other role says, and lets it in where both share a CPU.</summary>
    public static void Until(ref int value, int wanted) {
        for (var polls = 0; Volatile.Read(ref value) != wanted; polls++) if (polls > 1000) Thread.Yield();
    }
}
sealed class QueueRoles<TRing, T, TMessage> : Roles where TRing : struct, IRing<T> where TMessage : struct, IMessage<T> {
    TRing ring;
    public QueueRoles(int capacity) { ring = new(); ring.Open(capacity); }
    public override void First(Pass pass) {
        for (var k = 0; k < pass.Count; k++) ring.Put(default(TMessage).Make(pass.Numbers[k & 1023]));
    }
    public override void Second(Pass pass) {
        ulong good = 0, sum = 0;
        for (var k = 0; k < pass.Count; k++) {
            var number = default(TMessage).Read(ring.Take());
            if (number == pass.Numbers[k & 1023]) good++;
            sum += number;
        }
        (pass.Good, pass.Sum) = (good, sum);
    }
}
/// <summary>Even round trips wait in the first way, odd ones in the second; the runtime drops the choice where both are one.</summary>
sealed class WaitRoles<TEven, TOdd> : Roles where TEven : struct, IStrategy where TOdd : struct, IStrategy {
    Turn turn;
    void Await(int k, int wanted) {
        if (typeof(TEven) == typeof(TOdd) || (k & 1) == 0) while (turn.At != wanted) default(TEven).Rest();
        else while (turn.At != wanted) default(TOdd).Rest();
    }
    public override void First(Pass pass) {
        ulong good = 0, sum = 0;
        var before = pass.Timed ? Ns() : 0;
        for (var k = 0; k < pass.Count; k++) {
            turn.Number = pass.Numbers[k & 1023];
            turn.At = 2 * k + 1;
            Await(k, 2 * k + 2);
            if (pass.Timed) pass.Events[k] = Ns() - before;
            if (turn.Answer == pass.Numbers[k & 1023]) good++;
            sum += turn.Answer;
            if (pass.Timed) before = Ns();
        }
        (pass.Good, pass.Sum) = (good, sum);
    }
    public override void Second(Pass pass) {
        for (var k = 0; k < pass.Count; k++) {
            Await(k, 2 * k + 1);
            turn.Answer = turn.Number;
            turn.At = 2 * k + 2;
        }
    }
}
/// <summary>A look in vain and what is done between two of them, again and again.</summary>
sealed class CostRoles<TStrategy> : Roles where TStrategy : struct, IStrategy {
    Turn turn = new();
    public override int Count => 1;
    public override void First(Pass pass) {
        int k = 0, count = pass.Count;
        for (; k < count && turn.At == 0; k++) default(TStrategy).Rest();
        pass.Good = (ulong)k;
    }
}
/// <summary>Two reads of the clock with nothing between them.</summary>
sealed class ClockRoles : Roles {
    public override int Count => 1;
    public override void First(Pass pass) {
        var events = pass.Events;
        for (var k = 0; k < events.Length; k++) {
            var before = Ns();
            events[k] = Ns() - before;
            pass.Good++;
        }
    }
}
/// <summary>Role 1 sleeps in a semaphore until it is called.</summary>
sealed class WakeRoles : Roles {
    readonly SemaphoreSlim permits = new(0);
    int waits, over;
    long wentOn;
    uint number;
    public override void First(Pass pass) {
        double gap = pass.Option("gap_ns");
        for (var k = 0; k < pass.Count; k++) {
            Until(ref waits, k + 1);
            long length = (long)(gap * (0.75 + pass.Numbers[k & 1023] / 33554432.0)), began = Ns();
            while (Ns() - began < length) Thread.SpinWait(1);
            number = pass.Numbers[k & 1023];
            began = pass.Timed ? Ns() : 0;
            permits.Release();
            Until(ref over, k + 1);
            if (pass.Timed) pass.Events[k] = Math.Max(wentOn - began, 0);
        }
    }
    public override void Second(Pass pass) {
        for (var k = 0; k < pass.Count; k++) {
            Volatile.Write(ref waits, k + 1);
            permits.Wait();
            if (pass.Timed) wentOn = Ns();
            if (number == pass.Numbers[k & 1023]) pass.Good++;
            pass.Sum += number;
            Volatile.Write(ref over, k + 1);
        }
    }
}

static class Adapter {
    static readonly StreamWriter Out = new(Console.OpenStandardOutput());
    static Roles? Waits<T>(string kind) where T : struct, IStrategy => kind switch {
        "wait" => new WaitRoles<T, T>(),
        "alternate" when typeof(T) != typeof(Busy) => new WaitRoles<T, Busy>(),
        "cost" => new CostRoles<T>(),
        _ => null,
    };
    static Roles? Subject(Pass pass) => (pass.Kind, pass.Name, pass.Options.GetValueOrDefault("payload")) switch {
        ("queue", _, _) when pass.Capacity < 1 => null,
        ("queue", "semaphoreslim", "string") => new QueueRoles<SemaphoreRing<string>, string, Text>(pass.Capacity),
        ("queue", "semaphoreslim", "u64") => new QueueRoles<SemaphoreRing<uint>, uint, Number>(pass.Capacity),
        ("queue", "channel", "string") => new QueueRoles<ChannelRing<string>, string, Text>(pass.Capacity),
        ("queue", "channel", "u64") => new QueueRoles<ChannelRing<uint>, uint, Number>(pass.Capacity),
        ("queue", "blocking-collection", "string") => new QueueRoles<CollectionRing<string>, string, Text>(pass.Capacity),
        ("queue", "blocking-collection", "u64") => new QueueRoles<CollectionRing<uint>, uint, Number>(pass.Capacity),
        (_, "busy", _) => Waits<Busy>(pass.Kind),
        (_, "spinwait", _) => Waits<SpinOnce>(pass.Kind),
        (_, "fence", _) => Waits<Fence>(pass.Kind),
        (_, "yield", _) => Waits<Yield>(pass.Kind),
        (_, "pause", _) when X86Base.IsSupported => Waits<Pause>(pass.Kind),
        ("clock", _, _) when pass.Timed => new ClockRoles(),
        ("wake", "semaphoreslim", _) => new WakeRoles(),
        _ => null,
    };
    static ManualResetEvent leave = new(false);
    static void Perform(string line) {
        leave.Set();
        var words = line.Split(' ');
        var pass = new Pass { Id = words[1], Kind = words[2], Name = words[3] }; // a clock has no name
        foreach (var word in words) if (word.IndexOf('=') is > 0 and var at) pass.Options[word[..at]] = word[(at + 1)..];
        (pass.Count, pass.Capacity) = ((int)pass.Option("count"), (int)pass.Option("capacity"));
        pass.Timed = pass.Option("events") == 1;
        if (pass.Timed) Array.Fill(pass.Events = new long[pass.Count], 1); // every page is there before anything is timed
        var x = (uint)pass.Option("seed");
        for (var i = 0; i < 1024; i++) pass.Numbers[i] = (x = 1664525 * x + 1013904223) >> 8;
        if (Subject(pass) is { } roles) Perform(pass, roles);
        else Out.Write($"error there is no {pass.Kind} of this name, payload and capacity\n");
    }

    /// <summary>Each value with how often it came; short ones in a table, so that other threads than the roles do little.</summary>
    static void Say(string word, long[] events, int first, int step) {
        var shorts = new int[1 << 16];
        Dictionary<long, int> longs = new();
        for (var k = first; k < events.Length; k += step)
            if ((ulong)events[k] < (ulong)shorts.Length) shorts[events[k]]++;
            else longs[events[k]] = longs.GetValueOrDefault(events[k]) + 1;
        for (var ns = 0; ns < shorts.Length; ns++) if (shorts[ns] > 0) Out.Write($"{word}{ns}:{shorts[ns]}\n");
        foreach (var (ns, count) in longs) Out.Write($"{word}{ns}:{count}\n");
    }

    static void Perform(Pass pass, Roles roles) {
        var tids = new string[roles.Count];
        var there = 0;
        CountdownEvent named = new(roles.Count), over = new(roles.Count);
        ManualResetEvent go = new(false), end = leave = new(false);
        foreach (var me in Enumerable.Range(0, roles.Count))
            new Thread(() => {
                tids[me] = Path.GetFileName(new FileInfo("/proc/thread-self").LinkTarget!); // "PID/task/TID"
                named.Signal();
                go.WaitOne(); // asleep until the host has pinned all
                Interlocked.Increment(ref there);
                Roles.Until(ref there, roles.Count);
                pass.Begun[me] = Roles.Ns();
                if (me == 0) roles.First(pass); else roles.Second(pass);
                pass.Ended[me] = Roles.Ns();
                over.Signal();
                end.WaitOne(); // the host asks afterwards what this thread used
            }) { IsBackground = true }.Start();
        named.Wait();
        var collections = GC.CollectionCount(0);
        for (var me = 0; me < tids.Length; me++) Out.Write($"role {me} {tids[me]}\n");
        Out.Flush();
        if (Console.In.ReadLine() is null) Environment.Exit(0);
        go.Set();
        over.Wait();
        Out.Write($"ns {Math.Max(pass.Ended[0], pass.Ended[1]) - pass.Begun[0]}\n");
        Out.Flush(); // the host holds its own clock against it
        Out.Write($"count {pass.Good}\nsum {pass.Sum}\nnote gc {GC.CollectionCount(0) - collections}\n");
        // Of two ways of waiting in turn, odd round trips are those of `busy`.
        int ways = pass.Kind == "alternate" ? 2 : 1;
        for (var way = 0; way < ways; way++) Say(way == 1 ? "events busy " : "events ", pass.Events, way, ways);
        var began = Roles.Ns();
        for (var i = 0; i < 999; i++) Roles.Ns();
        if (pass.Timed && pass.Kind != "clock") Out.Write($"note clock_ns {(Roles.Ns() - began) / 1000}\n");
        Out.Write($"done {pass.Id}\n");
    }

    static int Main(string[] arguments) {
        switch (string.Join(' ', arguments)) {
            case "describe":
                Out.Write($"coretalk-adapter 2\nruntime {RuntimeInformation.FrameworkDescription}\n"
                    + "queue semaphoreslim payload=string,u64 capacity=any\nqueue channel payload=string,u64 capacity=any\n"
                    + "queue blocking-collection payload=string,u64 capacity=any\n"
                    + "wait busy,spinwait,fence,yield\nalternate spinwait,fence,yield\ncost busy,spinwait,fence,yield\n"
                    + (X86Base.IsSupported ? "wait pause\nalternate pause\ncost pause\n" : "")
                    + "clock\nwake semaphoreslim\n");
                break;
            case "serve":
                for (string? line; (line = Console.In.ReadLine()) is not null; Out.Flush()) Perform(line);
                break;
            default:
                Console.Error.WriteLine("usage: adapter describe|serve");
                return 2;
        }
        Out.Flush();
        return 0;
    }
}
