// The adapter for Java: its queues, its ways of waiting, its wake-ups. docs/adapters.md has the protocol.

import java.io.*;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

public final class Adapter {
    /** What is asked for, and what its roles say. */
    public static final class Pass {
        public final String kind, name;
        public final Map<String, String> options = new HashMap<>();
        public final int count;
        public final boolean timed, text;
        /** As objects, since the queues of Java take nothing else; made once, so that none is made for a message. */
        public final Long[] numbers = new Long[1024];
        public final long[] events, begun = new long[2], ended = new long[2];
        public final Thread[] threads;
        public volatile long good, sum;
        Pass(String[] words) {
            kind = words[2];
            name = words[3]; // a clock has none
            for (String word : words) if (word.indexOf('=') > 0) options.put(word.split("=")[0], word.split("=")[1]);
            count = option("count");
            timed = option("events") == 1;
            threads = new Thread[kind.equals("cost") || kind.equals("clock") ? 1 : 2];
            text = "string".equals(options.get("payload"));
            events = new long[timed ? count : 0];
            int x = option("seed");
            for (int i = 0; i < 1024; i++) numbers[i] = (long) ((x = 1664525 * x + 1013904223) >>> 8);
        }
        public int option(String key) { return (int) Long.parseLong(options.getOrDefault(key, "0")); }
        public void received(long good, long sum) { this.good = good; this.sum = sum; }
    }

    // ---- queues
    public interface Ring { void put(Object message) throws InterruptedException; Object take() throws InterruptedException; }
    public record Blocking(BlockingQueue<Object> queue) implements Ring {
        public void put(Object message) throws InterruptedException { queue.put(message); }
        public Object take() throws InterruptedException { return queue.take(); }
    }
    /** An array between two semaphores, free places and items, as the program about Zen 5 and C# has it. */
    public record SemaphorePair(Semaphore free, Semaphore items, AtomicInteger writer, AtomicInteger reader, Object[] slots) implements Ring {
        public void put(Object message) throws InterruptedException {
            free.acquire();
            slots[writer.incrementAndGet() % slots.length] = message;
            items.release();
        }
        public Object take() throws InterruptedException {
            items.acquire();
            Object message = slots[reader.incrementAndGet() % slots.length];
            free.release();
            return message;
        }
    }

    // ---- ways of waiting: a turn and numbers on one line, with nothing near them.
    public static class Before { long a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p; }
    public static class Fields extends Before { public volatile int turn; public long number, answer; }
    public static final class Turn extends Fields { long q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff; }

    public interface Strategy {
        void await(Turn at, int wanted) throws InterruptedException;
        default void handOver(Turn at, int next, Thread other) { at.turn = next; }
    }
    /** One that looks again and again, and does so much between two looks. */
    public interface Polling extends Strategy { void rest(); }
    public record Busy() implements Polling {
        public void await(Turn at, int wanted) { while (at.turn != wanted) { } }
        public void rest() { }
    }
    public record OnSpinWait() implements Polling {
        public void await(Turn at, int wanted) { while (at.turn != wanted) Thread.onSpinWait(); }
        public void rest() { Thread.onSpinWait(); }
    }
    public record Yield() implements Polling {
        public void await(Turn at, int wanted) { while (at.turn != wanted) Thread.yield(); }
        public void rest() { Thread.yield(); }
    }
    public record Park() implements Strategy {
        public void await(Turn at, int wanted) { while (at.turn != wanted) LockSupport.park(at); }
        public void handOver(Turn at, int next, Thread other) { at.turn = next; LockSupport.unpark(other); }
    }
    /** Tells of one turn by a permit, and not by the turn itself. */
    public record Permit(Semaphore permits) implements Strategy {
        public void await(Turn at, int wanted) throws InterruptedException { permits.acquire(); }
        public void handOver(Turn at, int next, Thread other) { permits.release(); }
    }

    /** Looks for what the other role says, and lets it in where both share a CPU. */
    public static void until(AtomicInteger value, int wanted) {
        for (int polls = 0; value.get() != wanted; polls++) if (polls > 1000) Thread.yield(); else Thread.onSpinWait();
    }

    public interface Roles { void role(int me, Pass pass, Object subject) throws InterruptedException; }

    /** The loops. This class is loaded anew for each subject, so that the compiler sees one queue or one way of waiting in it,
     *  as in a program that has only one; all in one class would call each other's through a table. */
    public static final class Loops implements Roles {
        private final AtomicInteger waits = new AtomicInteger(), over = new AtomicInteger();
        private final Turn at = new Turn();
        private volatile long wentOn, number;

        public void role(int me, Pass pass, Object subject) throws InterruptedException {
            switch (pass.kind) {
                case "queue" -> { if (me == 0) produce(pass, (Ring) subject); else consume(pass, (Ring) subject); }
                case "wait", "alternate" -> {
                    Strategy even = (Strategy) subject, odd = pass.kind.equals("wait") ? even : new Busy();
                    if (me == 0) lead(pass, even, odd); else follow(pass, even, odd);
                }
                case "cost" -> rest(pass, (Polling) subject);
                case "clock" -> read(pass);
                default -> { if (me == 0) wake(pass, (Strategy) subject); else sleep(pass, (Strategy) subject); }
            }
        }
        private void produce(Pass pass, Ring ring) throws InterruptedException {
            for (int k = 0; k < pass.count; k++) {
                Long number = pass.numbers[k & 1023];
                ring.put(pass.text ? number.toString() : number);
            }
        }
        private void consume(Pass pass, Ring ring) throws InterruptedException {
            long good = 0, sum = 0;
            for (int k = 0; k < pass.count; k++) {
                Object message = ring.take();
                long number = pass.text ? Long.parseLong((String) message) : (Long) message;
                if (number == pass.numbers[k & 1023]) good++;
                sum += number;
            }
            pass.received(good, sum);
        }
        private void lead(Pass pass, Strategy even, Strategy odd) throws InterruptedException { // odd turns are role 1's
            long good = 0, sum = 0, before = pass.timed ? System.nanoTime() : 0;
            for (int k = 0; k < pass.count; k++) {
                Strategy strategy = (k & 1) == 0 ? even : odd;
                at.number = pass.numbers[k & 1023];
                strategy.handOver(at, 2 * k + 1, pass.threads[1]);
                strategy.await(at, 2 * k + 2);
                if (pass.timed) pass.events[k] = System.nanoTime() - before;
                if (at.answer == pass.numbers[k & 1023]) good++;
                sum += at.answer;
                if (pass.timed) before = System.nanoTime();
            }
            pass.received(good, sum);
        }
        private void follow(Pass pass, Strategy even, Strategy odd) throws InterruptedException {
            for (int k = 0; k < pass.count; k++) {
                Strategy strategy = (k & 1) == 0 ? even : odd;
                strategy.await(at, 2 * k + 1);
                at.answer = at.number;
                strategy.handOver(at, 2 * k + 2, pass.threads[0]);
            }
        }
        /** A look in vain and what is done between two of them, again and again. */
        private void rest(Pass pass, Polling strategy) {
            int k = 0, count = pass.count;
            for (; k < count && at.turn == 0; k++) strategy.rest();
            pass.received(k, 0);
        }
        /** Two reads of the clock with nothing between them. */
        private void read(Pass pass) {
            long[] events = pass.events;
            for (int k = 0; k < events.length; k++) {
                long before = System.nanoTime();
                events[k] = System.nanoTime() - before;
            }
            pass.received(events.length, 0);
        }
        private void wake(Pass pass, Strategy strategy) {
            double gap = pass.option("gap_ns");
            for (int k = 0; k < pass.count; k++) {
                until(waits, k + 1);
                long length = (long) (gap * (0.75 + pass.numbers[k & 1023] / 33554432.0)), began = System.nanoTime();
                while (System.nanoTime() - began < length) Thread.onSpinWait();
                number = pass.numbers[k & 1023];
                began = pass.timed ? System.nanoTime() : 0;
                strategy.handOver(at, k + 1, pass.threads[1]);
                until(over, k + 1);
                if (pass.timed) pass.events[k] = Math.max(wentOn - began, 0);
            }
        }
        private void sleep(Pass pass, Strategy strategy) throws InterruptedException {
            for (int k = 0; k < pass.count; k++) {
                waits.set(k + 1);
                strategy.await(at, k + 1);
                if (pass.timed) wentOn = System.nanoTime();
                if (number == pass.numbers[k & 1023]) pass.good++;
                pass.sum += number;
                over.set(k + 1);
            }
        }
    }

    // ---- the protocol
    private static final Map<String, Class<?>> LOADED = new HashMap<>();
    private static CountDownLatch leave = new CountDownLatch(1);
    private static Roles loops(String subject) throws ReflectiveOperationException, IOException {
        if (!LOADED.containsKey(subject)) {
            byte[] code = Adapter.class.getResourceAsStream("Adapter$Loops.class").readAllBytes();
            LOADED.put(subject, MethodHandles.lookup().defineHiddenClass(code, true).lookupClass());
        }
        return (Roles) LOADED.get(subject).getConstructor().newInstance();
    }
    private static Object subject(Pass pass) {
        int capacity = pass.option("capacity");
        return switch (pass.kind + " " + pass.name) {
            case "queue array-blocking-queue" -> capacity < 1 ? null : new Blocking(new ArrayBlockingQueue<>(capacity));
            case "queue synchronous-queue" -> new Blocking(new SynchronousQueue<>()); // one at most is under way
            case "queue semaphore" -> capacity < 1 ? null : new SemaphorePair(
                new Semaphore(capacity), new Semaphore(0), new AtomicInteger(-1), new AtomicInteger(-1), new Object[capacity]);
            case "wait busy", "cost busy" -> new Busy();
            case "wait onspinwait", "alternate onspinwait", "cost onspinwait" -> new OnSpinWait();
            case "wait yield", "alternate yield", "cost yield" -> new Yield();
            case "wait park", "alternate park", "wake park" -> new Park();
            case "wake semaphore" -> new Permit(new Semaphore(0));
            default -> pass.kind.equals("clock") && pass.timed ? pass : null;
        };
    }
    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(gc -> Math.max(gc.getCollectionCount(), 0)).sum();
    }
    /** Each value with how often it came; short ones in a table, so that other threads than the roles do little. */
    private static void say(StringBuilder answer, String word, long[] events, int first, int step) {
        int[] shorts = new int[1 << 16];
        Map<Long, Integer> longs = new HashMap<>();
        for (int k = first; k < events.length; k += step) {
            if (events[k] >= 0 && events[k] < shorts.length) shorts[(int) events[k]]++;
            else longs.merge(events[k], 1, Integer::sum);
        }
        for (int ns = 0; ns < shorts.length; ns++) if (shorts[ns] > 0) answer.append(word + ns + ":" + shorts[ns] + "\n");
        longs.forEach((ns, count) -> answer.append(word + ns + ":" + count + "\n"));
    }
    private static void perform(String line, BufferedReader in) throws Exception {
        leave.countDown();
        Pass pass = new Pass(line.split(" "));
        Object subject = subject(pass);
        if (subject == null) {
            System.out.println("error there is no " + pass.kind + " of this name and capacity");
            return;
        }
        Roles roles = loops(pass.kind + pass.name.split("=")[0] + pass.text + pass.timed);
        int count = pass.threads.length;
        CountDownLatch go = new CountDownLatch(1), over = new CountDownLatch(count), end = leave = new CountDownLatch(1);
        AtomicInteger there = new AtomicInteger();
        for (int role = 0; role < count; role++) {
            int me = role;
            pass.threads[me] = new Thread(() -> {
                try {
                    System.out.print("role " + me + " " + new File("/proc/thread-self").getCanonicalFile().getName() + "\n");
                    go.await(); // asleep until the host has pinned all
                    there.incrementAndGet();
                    until(there, count);
                    pass.begun[me] = System.nanoTime();
                    roles.role(me, pass, subject);
                    pass.ended[me] = System.nanoTime();
                    over.countDown();
                    end.await(); // the host asks afterwards what this thread used
                } catch (Exception e) { // the partner would wait for ever
                    e.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
            });
        }
        for (Thread thread : pass.threads) thread.start();
        long before = collections();
        if (in.readLine() == null) Runtime.getRuntime().halt(0);
        go.countDown();
        over.await();
        System.out.print("ns " + (Math.max(pass.ended[0], pass.ended[1]) - pass.begun[0]) + "\n"); // the host has a clock, too
        StringBuilder answer = new StringBuilder("count " + pass.good + "\nsum " + pass.sum + "\nnote gc " + (collections() - before) + "\n");
        boolean inTurn = pass.kind.equals("alternate"); // odd round trips are those of `busy`
        say(answer, "events ", pass.events, 0, inTurn ? 2 : 1);
        if (inTurn) say(answer, "events busy ", pass.events, 1, 2);
        long began = System.nanoTime();
        for (int i = 0; i < 999; i++) System.nanoTime();
        if (pass.timed && !pass.kind.equals("clock")) answer.append("note clock_ns " + (System.nanoTime() - began) / 1000 + "\n");
        System.out.print(answer + "done " + line.split(" ")[1] + "\n");
    }
    public static void main(String[] arguments) throws Exception {
        switch (String.join(" ", arguments)) {
            case "describe" -> System.out.print("coretalk-adapter 2\n"
                + "runtime " + System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version") + "\n"
                + "queue array-blocking-queue payload=u64,string capacity=any\nqueue semaphore payload=u64,string capacity=any\n"
                + "queue synchronous-queue payload=u64,string capacity=1\nwait busy,onspinwait,park,yield\n"
                + "alternate onspinwait,park,yield\ncost busy,onspinwait,yield\nclock\nwake park,semaphore\n");
            case "serve" -> {
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
                for (String line; (line = in.readLine()) != null;) perform(line, in);
                Runtime.getRuntime().halt(0); // threads of the last pass may be there
            }
            default -> {
                System.err.println("usage: Adapter describe|serve");
                System.exit(2);
            }
        }
    }
}
