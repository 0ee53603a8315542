/**
 * Loaded into a service before it starts: measures how long its event loop is kept from its timers. A request to the socket
 * ATELIER_LOOP_METER gets the longest turn since the one before, in ms: by the clock, and of the processor.
 */
import http from 'node:http';
import { isMainThread } from 'node:worker_threads';

const processorMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

if (isMainThread && process.env.ATELIER_LOOP_METER) {
  const socket = process.env.ATELIER_LOOP_METER;
  // Nor does what the service starts measure itself.
  delete process.env.ATELIER_LOOP_METER;
  let longest = { wall: 0, cpu: 0 };
  let last = { wall: performance.now(), cpu: processorMs() };
  setInterval(() => {
    const now = { wall: performance.now(), cpu: processorMs() };
    const turn = { wall: now.wall - last.wall, cpu: now.cpu - last.cpu };
    longest = { wall: Math.max(longest.wall, turn.wall), cpu: Math.max(longest.cpu, turn.cpu) };
    last = now;
  }, 1).unref();
  http
    .createServer((_request, response) => {
      // The turn that is under way ends before it is told of.
      setTimeout(() => {
        response.end(JSON.stringify(longest));
        longest = { wall: 0, cpu: 0 };
      }, 3);
    })
    .listen(socket)
    .unref();
}
