export { EventStreams } from './event-streams.js';
export { EventStream, resumeAfter, type ServerEvent } from './sse.js';
export { StreamsModule } from './streams.module.js';
export { atExpiry, stillMay, type Watcher, whileAllowed } from './while-allowed.js';
