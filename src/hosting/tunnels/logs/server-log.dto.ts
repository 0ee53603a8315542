import { Field } from '../../../platform/dto/index.js';

export class ReadServerLog {
  @Field.id('The server') id: string;

  @Field.integer('Only the newest lines, so many of them', {
    min: 1,
    max: 1000,
    optional: true,
    example: 100,
  })
  tail?: number;

  @Field.integer('Only what follows this number', { min: 0, optional: true, example: 120 }) after?: number;
}

export class ServerLogEntryView {
  @Field.integer('Its number in the log', { example: 7 }) id: number;
  @Field.choice('Where it comes from; system: the service', ['stdout', 'stderr', 'system']) stream: string;

  @Field.text('What was printed within a moment: several lines, or a part of one', {
    example: 'Listening on port 3000\n',
  })
  text: string;

  @Field.time('When') created_at: string;
}

export class ServerLogView {
  @Field.object('In order', () => ServerLogEntryView, { list: true }) entries: ServerLogEntryView[];
  @Field.integer('Ask again with this as `after`', { example: 120 }) next: number;
}
