import { expect, it } from '@jest/globals';
import { criteriaOf } from './criteria.js';

it('takes the points of a list, each with what is below it', () => {
  const rubric =
    'The report:\n\n- names each city\n  with its country\n* [ ] has a table\n  - of two columns\n\n2. is short\n';
  expect(criteriaOf(rubric)).toEqual([
    { id: 'c1', text: 'names each city\nwith its country' },
    { id: 'c2', text: 'has a table\n- of two columns' },
    { id: 'c3', text: 'is short' },
  ]);
});

it('takes a text without a list as one', () => {
  expect(criteriaOf('  It is in German,\nand polite. ')).toEqual([
    { id: 'c1', text: 'It is in German,\nand polite.' },
  ]);
});

it('takes no empty point', () => {
  expect(criteriaOf('-  \n- two')).toEqual([{ id: 'c1', text: 'two' }]);
});
