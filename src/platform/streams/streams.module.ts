import { Global, Module } from '@nestjs/common';
import { EventStreams } from './event-streams.js';
import { Watches } from './watches.js';

/** Responses that stay open: server-sent events. */
@Global()
@Module({ providers: [EventStreams, Watches], exports: [EventStreams, Watches] })
export class StreamsModule {}
