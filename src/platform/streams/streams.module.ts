import { Global, Module } from '@nestjs/common';
import { EventStreams } from './event-streams.js';
import { LongPolls } from './long-polls.js';
import { Watches } from './watches.js';

/** Requests that stay open: server-sent events, and those that wait for a state. */
@Global()
@Module({ providers: [EventStreams, LongPolls, Watches], exports: [EventStreams, LongPolls, Watches] })
export class StreamsModule {}
