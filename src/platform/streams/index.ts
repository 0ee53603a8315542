export { EventStreams } from './event-streams.js';
export { LongPolls } from './long-polls.js';
export { Streams } from './streams.decorator.js';
export { StreamsModule } from './streams.module.js';
export { type EventLog, type LogPage, type Watched, Watches } from './watches.js';
