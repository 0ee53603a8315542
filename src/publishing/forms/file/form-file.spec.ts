import { describe, expect, it } from '@jest/globals';
import { FIELD_TYPES } from './form-definition.js';
import { readFormFile } from './form-file.js';

const read = (text: string) => readFormFile({ name: 'x.form', text });
const found = (text: string) =>
  read(text).findings.map(({ line, message, suggestion }) => [line, message, suggestion].join(' | '));

const field = (lines: string) => `title: T\nfields:\n  - id: a\n    label: A\n    ${lines}\n`;

describe('a form file', () => {
  it('is read whole', () => {
    const { definition, findings } = read(`
title: Sign up
description: "**Welcome**"
fields:
  - id: full_name
    label: Your name
    type: text
    required: true
    max: 80
  - { id: day, label: Day, type: date, min: 2026-01-01 }
  - { id: size, label: Size, type: choice, options: [S, { id: m, label: Medium }] }
  - { id: cv, label: CV, type: file, accept: [.pdf, image/*], max_files: 3 }
  - { id: more, label: More, type: heading }
confirmation: { title: Done, text: See you, redirect: https://example.com/x }
closes_at: 2026-12-24T18:00:00+01:00
max_responses: 10
notify: false
embed: [https://example.com]
protection: pow
output: answers.csv
`);
    expect(findings).toEqual([]);
    expect(definition).toMatchObject({
      title: 'Sign up',
      closesAt: '2026-12-24T17:00:00.000Z',
      maxResponses: 10,
      notify: false,
      output: 'answers.csv',
      embed: ['https://example.com'],
      protection: 'pow',
      fields: [
        { id: 'full_name', required: true, max: 80 },
        { id: 'day', min: '2026-01-01' },
        {
          options: [
            { id: 'S', label: 'S' },
            { id: 'm', label: 'Medium' },
          ],
        },
        { accept: ['.pdf', 'image/*'], maxFiles: 3 },
        { type: 'heading' },
      ],
    });
    expect(definition?.description).toContain('<strong>Welcome</strong>');
  });

  it.each(FIELD_TYPES.filter(type => type !== 'heading' && !type.startsWith('choice')))(
    'may have a field of the type %s with id, label and type alone',
    type => expect(found(field(`type: ${type}`))).toEqual([]),
  );

  it.each([
    ['', 'The file is empty'],
    ['title: "a\\0b"\nfields: []', 'title has characters that cannot be shown'],
    ['- a', 'The file must be lines of "key: value"'],
    ['title: [', 'not valid YAML'],
    ['titel: T\nfields: []', 'Did you mean "title"?'],
    ['title: T', 'fields is missing'],
    [field('type: txt'), '5 | fields[1].type must be one of text,'],
    [field('type: email\n    requird: true'), '6 | "requird" is not a known key of fields[1]'],
    [field('type: email\n    min: 3'), 'fields[1].min has no meaning for the type email'],
    [field('type: number\n    min: 3\n    max: 1'), 'min is more than max'],
    [field('type: choice'), 'fields[1].options is missing'],
    [field('type: choices\n    options: [a, a]'), 'two options with the same id'],
    [field('type: text\n    pattern: "(?=a)"'), 'no regular expression that RE2'],
    [field('type: text\n    pattern: "((a{100}){100})"'), 'fields[1].pattern is'],
    [field('type: text\n    pattern_message: small'), 'pattern_message has no meaning without a pattern'],
    [
      field('type: text\n    show_if: { field: a }'),
      'show_if.field must be the id of a field before this one',
    ],
    [
      `${field('type: text')}  - { id: b, label: B, type: text, show_if: { field: a } }`,
      'must be a field of the type',
    ],
    [
      `${field('type: choice\n    options: [x, "y"]')}  - { id: b, label: B, type: text, show_if: { field: a, is: z } }`,
      'fields[2].show_if.is has "z", which cannot be answered | There are x, y',
    ],
    [
      `${field('type: checkbox')}  - { id: b, label: B, type: text, show_if: { field: a, is: [] } }`,
      'show_if.is has no value',
    ],
    [
      `${field('type: checkbox')}${['b', 'c', 'd', 'e', 'f', 'g'].map((id, n) => `  - { id: ${id}, label: B, type: checkbox, show_if: { field: ${'abcdef'[n]} } }\n`).join('')}`,
      'depends on more than 5 fields',
    ],
    [field('type: file\n    accept: everything'), 'must list endings'],
    ['title: T\nfields:\n  - { id: Full Name, label: A, type: text }', 'must be a small letter'],
    ['title: T\nfields:\n  - { id: submission_id, label: A, type: text }', 'may not be submission_id'],
    [`${field('type: text')}  - { id: a, label: B, type: text }`, 'two fields with the id "a"'],
    ['title: T\nfields:\n  - { id: a, label: A, type: heading }', 'has nothing to fill in'],
    [`${field('type: text')}output: ../x.csv`, 'output must be the name of a .csv file'],
    [`${field('type: text')}output: "con\\n.csv"`, 'output must be the name of a .csv file'],
    [`${field('type: text')}output: "a\\u202evsc.csv"`, 'output must be the name of a .csv file'],
    [`${field('type: text')}output: ${'ü'.repeat(130)}.csv`, 'output must be the name of a .csv file'],
    [`${field('type: text')}closes_at: tomorrow`, 'closes_at must be a time with its zone'],
    [`${field('type: text')}confirmation: { redirect: http://a.example }`, 'begins with https://'],
    [`${field('type: text')}embed: https://a.example/x`, 'embed must list origins'],
    [`${field('type: text')}protection: captcha`, 'protection must be one of auto, pow, none'],
    [`a: &a [x]\n${field('type: text')}embed: *a`, 'is not a known key'],
  ])('with a mistake says where it is and what to do: %j', (text, message) => {
    const { definition } = read(text);
    expect(definition).toBeNull();
    expect(found(text).join('\n')).toContain(message);
  });

  it('however it is written is read in a moment', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefghij'.split('').map((c, i) => `${c}: &${c} [${`*${'abcdefghij'[i]},`.repeat(9)}]`),
    ];
    expect(read(`${bomb.join('\n')}\nfields: *j`).definition).toBeNull();
    expect(read(`description: "${'*a **'.repeat(1900)}"\n${field('type: text')}`).definition).not.toBeNull();
  });
});
