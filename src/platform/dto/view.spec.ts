import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { fieldsOf, inputSchemaOf } from '#libs/fields/index.js';
import { ById } from './by-id.js';
import { Field } from './field.js';
import { ListById } from './page.js';
import { toView } from './view.js';

class DrawerView {
  @Field.id('The drawer') id: string;
  @Field.text('Its title', { example: 'Plans' }) title: string;
  @Field.time('When it was opened; null: never', { nullable: true }) opened_at: string | null;
  @Field.time('When it was made') created_at: string;
}

const ROW = {
  id: 'd1',
  title: 'Plans',
  hash: 'secret',
  opened_at: null,
  created_at: '2026-11-21 09:30:00.123+00',
};

it('shows the fields of the shape and no others, times in ISO 8601', () => {
  expect(toView(DrawerView, ROW)).toEqual({
    id: 'd1',
    title: 'Plans',
    opened_at: null,
    created_at: '2026-11-21T09:30:00.123Z',
  });
});

it('takes what is given beside the row before what the row has', () => {
  expect(toView(DrawerView, ROW, { title: 'Notes' })).toMatchObject({ id: 'd1', title: 'Notes' });
});

it('inputs that only name something have their ids, and lists their page', () => {
  expect(inputSchemaOf(ById({ site_id: 'The site', id: 'The token' }))).toMatchObject({
    properties: { site_id: { description: 'The site', format: 'uuid' }, id: { description: 'The token' } },
    required: ['site_id', 'id'],
  });
  expect([...fieldsOf(ListById({ id: 'The chat' })).keys()]).toEqual(['limit', 'cursor', 'id']);
  expect([...fieldsOf(ListById({ chat_id: 'The chat' })).keys()]).toEqual(['limit', 'cursor', 'chat_id']);
});
