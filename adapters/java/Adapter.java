// The adapter for Java: its queues, its ways of waiting, its wake-ups. ADAPTERS.md has the protocol.

import java.io.*;
import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;

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
        public final Thread[] threads = new Thread[2];
        public volatile long good, sum;
        Pass(String[] words) {
            kind = words[2];
            name = words[3];
            for (String word : words) if (word.indexOf('=') > 0) options.put(word.split("=")[0], word.split("=")[1]);
            count = option("count");
            timed = option("events") == 1;
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
    public record Busy() implements Strategy { public void await(Turn at, int wanted) { while (at.turn != wanted) { } } }
    public record OnSpinWait() implements Strategy { public void await(Turn at, int wanted) { while (at.turn != wanted) Thread.onSpinWait(); } }
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
                case "wait" -> { if (me == 0) lead(pass, (Strategy) subject); else follow(pass, (Strategy) subject); }
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
        private void lead(Pass pass, Strategy strategy) throws InterruptedException { // odd turns are role 1's
            long good = 0, sum = 0, before = pass.timed ? System.nanoTime() : 0;
            for (int k = 0; k < pass.count; k++) {
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
        private void follow(Pass pass, Strategy strategy) throws InterruptedException {
            for (int k = 0; k < pass.count; k++) {
                strategy.await(at, 2 * k + 1);
                at.answer = at.number;
                strategy.handOver(at, 2 * k + 2, pass.threads[0]);
            }
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
    private static final Map<String, IntFunction<Object>> SUBJECTS = Map.of(
        "queue array-blocking-queue", capacity -> new Blocking(new ArrayBlockingQueue<>(capacity)),
        "queue synchronous-queue", capacity -> new Blocking(new SynchronousQueue<>()), // one at most is under way
        "queue semaphore", capacity -> new SemaphorePair(
            new Semaphore(capacity), new Semaphore(0), new AtomicInteger(-1), new AtomicInteger(-1), new Object[capacity]),
        "wait busy", none -> new Busy(),
        "wait onspinwait", none -> new OnSpinWait(),
        "wait park", none -> new Park(),
        "wake park", none -> new Park(),
        "wake semaphore", none -> new Permit(new Semaphore(0)));
    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream().mapToLong(gc -> Math.max(gc.getCollectionCount(), 0)).sum();
    }
    private static void perform(String line, BufferedReader in) throws Exception {
        leave.countDown();
        Pass pass = new Pass(line.split(" "));
        IntFunction<Object> make = SUBJECTS.get(pass.kind + " " + pass.name);
        if (make == null || (pass.kind.equals("queue") && pass.option("capacity") < 1)) {
            System.out.println("error there is no " + pass.kind + " of this name and capacity");
            return;
        }
        Object subject = make.apply(pass.option("capacity"));
        Roles roles = loops(pass.kind + pass.name + pass.text + pass.timed);
        CountDownLatch go = new CountDownLatch(1), over = new CountDownLatch(2), end = leave = new CountDownLatch(1);
        AtomicInteger there = new AtomicInteger();
        for (int me : new int[] {0, 1}) {
            pass.threads[me] = new Thread(() -> {
                try {
                    System.out.print("role " + me + " " + new File("/proc/thread-self").getCanonicalFile().getName() + "\n");
                    go.await(); // asleep until the host has pinned both
                    there.incrementAndGet();
                    until(there, 2);
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
        Arrays.sort(pass.events);
        for (int from = 0, to = 0; from < pass.events.length; from = to) {
            while (to < pass.events.length && pass.events[to] == pass.events[from]) to++;
            answer.append("events " + pass.events[from] + ":" + (to - from) + "\n");
        }
        long began = System.nanoTime();
        for (int i = 0; i < 999; i++) System.nanoTime();
        if (pass.timed) answer.append("note clock_ns " + (System.nanoTime() - began) / 1000 + "\n");
        System.out.print(answer + "done " + line.split(" ")[1] + "\n");
    }
    public static void main(String[] arguments) throws Exception {
        switch (String.join(" ", arguments)) {
            case "describe" -> System.out.print("coretalk-adapter 1\n"
                + "runtime " + System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version") + "\n"
                + "queue array-blocking-queue payload=u64,string capacity=any\nqueue semaphore payload=u64,string capacity=any\n"
                + "queue synchronous-queue payload=u64,string capacity=1\nwait busy,onspinwait,park\nwake park,semaphore\n");
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
