// The adapter for Node: Atomics over shared memory, messages between workers. docs/adapters.md has the protocol.
"use strict";
const fs = require("node:fs");
const readline = require("node:readline");
const { MessageChannel, Worker, isMainThread, parentPort } = require("node:worker_threads");

// Places in the shared memory, each on lines of its own: x86 fetches lines in pairs, some Arm cores have lines of 128 bytes.
const [GO, THERE, TURN, SENT, TAKEN, WAITS, OVER, CALLED] = [0, 64, 128, 192, 256, 320, 384, 448];
const PLACES = 512;
const now = () => Number(process.hrtime.bigint()); // since boot: exact below 2^53 ns, and the same in all workers

// Polls until a place holds the wanted value. After 1000 polls it sleeps briefly between polls: both roles may share a
// CPU, and a worker cannot yield.
function until(shared, place, wanted) {
  for (let polls = 0, seen; (seen = Atomics.load(shared, place)) !== wanted; polls++) {
    if (polls > 1000) Atomics.wait(shared, place, seen, 0.05);
  }
}

// Sleeps until `holds` accepts the value of a place.
function sleep(shared, place, holds) {
  for (let seen; !holds((seen = Atomics.load(shared, place))); ) Atomics.wait(shared, place, seen);
}

function call(shared, place, value) {
  Atomics.store(shared, place, value);
  Atomics.notify(shared, place, 1);
}

// Each role gets the pass: { count, capacity, gap, timed, text, shared, slots, numbers, events, port }. Role 1 of a
// queue or a wake-up, and role 0 of a wait, return the count and the sum of the numbers that they received.
function tally(pass) {
  const said = { good: 0, sum: 0 };
  return [said, (k, number) => {
    if (number === pass.numbers[k & 1023]) said.good++;
    said.sum += number;
  }];
}

const ROLES = {
  // A ring in shared memory: the producer sleeps on the count taken, the consumer on the count sent.
  "queue atomics-wait": [
    ({ count, capacity, shared, slots, numbers }) => {
      for (let k = 0; k < count; k++) {
        sleep(shared, TAKEN, (taken) => k - taken < capacity);
        slots[k % capacity] = numbers[k & 1023];
        call(shared, SENT, k + 1);
      }
    },
    (pass) => {
      const { count, capacity, shared, slots } = pass;
      const [said, add] = tally(pass);
      for (let k = 0; k < count; k++) {
        sleep(shared, SENT, (sent) => sent > k);
        add(k, slots[k % capacity]);
        call(shared, TAKEN, k + 1);
      }
      return said;
    },
  ],
  // Messages through a port, which is unbounded: the producer sleeps while `capacity` messages are under way.
  "queue post-message": [
    ({ count, capacity, shared, numbers, text, port }) => {
      for (let k = 0; k < count; k++) {
        sleep(shared, TAKEN, (taken) => k - taken < capacity);
        const number = numbers[k & 1023];
        port.postMessage(text ? String(number) : number);
      }
    },
    (pass) => new Promise((resolve) => {
      const { count, shared, port } = pass;
      const [said, add] = tally(pass);
      let k = 0;
      port.on("message", (message) => {
        add(k++, Number(message));
        call(shared, TAKEN, k);
        if (k === count) resolve(said);
      });
    }),
  ],
  "wait busy": trips((shared, wanted) => {
    while (Atomics.load(shared, TURN) !== wanted) {}
  }, (shared, next) => Atomics.store(shared, TURN, next)),
  "wait atomics-wait": trips((shared, wanted) => sleep(shared, TURN, (at) => at === wanted), (shared, next) => call(shared, TURN, next)),
  "wake atomics-wait": wakes((pass, k) => call(pass.shared, CALLED, k + 1), (pass, k) => sleep(pass.shared, CALLED, (called) => called > k)),
  "wake post-message": wakes((pass, k) => pass.port.postMessage(k), (pass) => new Promise((resolve) => pass.port.once("message", resolve))),
};

// A number is sent and returned; odd turns are role 1's. The numbers are on the cache line of the turn.
function trips(await_, handOver) {
  // Each way of waiting has its own loop; otherwise the compiler would call the functions through a table.
  const own = (role) => new Function("await_", "handOver", "now", "tally", "TURN", `return ${role}`)(await_, handOver, now, tally, TURN);
  return [
    own((pass) => {
      const { count, shared, numbers, events, timed } = pass;
      const [said, add] = tally(pass);
      let before = timed ? now() : 0;
      for (let k = 0; k < count; k++) {
        shared[TURN + 1] = numbers[k & 1023];
        handOver(shared, 2 * k + 1);
        await_(shared, 2 * k + 2);
        if (timed) events[k] = now() - before;
        add(k, shared[TURN + 2]);
        if (timed) before = now();
      }
      return said;
    }),
    own(({ count, shared }) => {
      for (let k = 0; k < count; k++) {
        await_(shared, 2 * k + 1);
        shared[TURN + 2] = shared[TURN + 1];
        handOver(shared, 2 * k + 2);
      }
    }),
  ];
}

function wakes(wake, sleeps) {
  return [
    (pass) => {
      const { count, shared, numbers, events, timed, gap, stamps } = pass;
      for (let k = 0; k < count; k++) {
        until(shared, WAITS, k + 1);
        let began = now();
        while (now() - began < gap * (0.75 + numbers[k & 1023] / 33554432)) {}
        shared[CALLED + 1] = numbers[k & 1023];
        began = timed ? now() : 0;
        wake(pass, k);
        until(shared, OVER, k + 1);
        if (timed) events[k] = Math.max(stamps[0] - began, 0);
      }
    },
    async (pass) => {
      const { count, shared, timed, stamps } = pass;
      const [said, add] = tally(pass);
      for (let k = 0; k < count; k++) {
        Atomics.store(shared, WAITS, k + 1);
        const woken = sleeps(pass, k);
        if (woken) await woken; // a message comes through the event loop
        if (timed) stamps[0] = now();
        add(k, shared[CALLED + 1]);
        Atomics.store(shared, OVER, k + 1);
      }
      return said;
    },
  ];
}

// ---- the protocol
function serveRole() {
  const tid = fs.readlinkSync("/proc/thread-self").split("/").pop(); // "PID/task/TID"
  parentPort.on("message", async ({ me, pass }) => {
    parentPort.postMessage({ tid });
    Atomics.wait(pass.shared, GO, 0); // sleeps until the host has pinned both
    Atomics.add(pass.shared, THERE, 1);
    until(pass.shared, THERE, 2);
    const begun = now();
    const said = await ROLES[pass.subject][me](pass);
    parentPort.postMessage({ begun, ended: now(), said });
    pass.port?.close();
  });
}

const shared = (type, length) => new type(new SharedArrayBuffer(length * type.BYTES_PER_ELEMENT));
let workers, current, answers;

function prepare(line) {
  const [, id, kind, name, ...rest] = line.split(" ");
  const options = Object.fromEntries(rest.map((word) => word.split("=")));
  const option = (key) => Number(options[key] ?? 0);
  const pass = {
    subject: `${kind} ${name}`, count: option("count"), capacity: option("capacity"), gap: option("gap_ns"),
    timed: option("events") === 1, text: options.payload === "string", shared: shared(Int32Array, PLACES),
    slots: shared(Uint32Array, option("capacity") || 1), numbers: shared(Uint32Array, 1024), stamps: shared(Float64Array, 1),
  };
  pass.events = shared(Float64Array, pass.timed ? pass.count : 1);
  if (!ROLES[pass.subject] || (kind === "queue" && (pass.capacity < 1 || (pass.text && name !== "post-message")))) {
    process.stdout.write(`error there is no ${kind} of this name, payload and capacity\n`);
    return;
  }
  for (let i = 0, x = option("seed"); i < 1024; i++) {
    x = (1664525 * x + 1013904223) % 4294967296;
    pass.numbers[i] = Math.floor(x / 256);
  }
  workers ??= [0, 1].map((me) => new Worker(__filename).on("message", (answer) => answered(me, answer)));
  [current, answers] = [{ id, pass }, [[], []]];
  const { port1, port2 } = new MessageChannel();
  const ports = name === "post-message" ? [port1, port2] : [];
  workers.forEach((worker, me) => worker.postMessage({ me, pass: { ...pass, port: ports[me] } }, ports.slice(me, me + 1)));
}

function answered(me, answer) {
  answers[me].push(answer);
  if (answers[0].length !== answers[1].length) return;
  const [first, second] = answers.map((all) => all.at(-1));
  if (answers[0].length === 1) {
    process.stdout.write(`role 0 ${first.tid}\nrole 1 ${second.tid}\n`);
    return;
  }
  process.stdout.write(`ns ${Math.max(first.ended, second.ended) - first.begun}\n`); // at once: the host also times it
  const { pass, id } = current;
  const { good, sum } = first.said ?? second.said;
  const lines = [`count ${good}`, `sum ${sum}`];
  if (pass.timed) {
    const times = new Map();
    for (const ns of pass.events) times.set(ns, (times.get(ns) ?? 0) + 1);
    for (const [ns, count] of times) lines.push(`events ${ns}:${count}`);
    const began = now();
    for (let i = 0; i < 999; i++) now();
    lines.push(`note clock_ns ${Math.round((now() - began) / 1000)}`);
  }
  process.stdout.write(`${lines.join("\n")}\ndone ${id}\n`);
}

if (!isMainThread) serveRole();
else if (process.argv[2] === "describe") {
  console.log(`coretalk-adapter 1\nruntime Node.js ${process.version}, V8 ${process.versions.v8}
queue atomics-wait payload=u64 capacity=any\nqueue post-message payload=u64,string capacity=any
wait busy,atomics-wait\nwake atomics-wait,post-message`);
} else if (process.argv[2] === "serve") {
  readline.createInterface({ input: process.stdin }).on("line", (line) => {
    if (line.startsWith("pass ")) prepare(line);
    else call(current.pass.shared, GO, 1), Atomics.notify(current.pass.shared, GO);
  }).on("close", () => process.exit(0));
} else {
  console.error("usage: adapter.js describe|serve");
  process.exit(2);
}
