export { atExpiry } from './access-watch.js';
export type { EventLog, LogPage } from './event-log.js';
export { EventStream } from './event-stream.js';
export { EventStreams } from './event-streams.js';
export type { ServerEvent } from './server-event.js';
export { Streams } from './streams.decorator.js';
export { StreamsModule } from './streams.module.js';
export { type Watched, Watches } from './watches.js';
