// What the variables have in common. Each message names the variable, what was found and what is needed.
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsBoolean, IsInt, Max, Min, ValidateBy, type ValidationOptions } from 'class-validator';
import type { Configuration } from './configuration.js';

/** What was found, without possible secrets: the part before an `@`, and a query. */
export const found = (text: string): string =>
  text === ''
    ? 'not set'
    : `"${text
        .replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1***@')
        .replace(/[?#].*$/s, (rest) => `${rest[0]}***`)}"`;

export const needed = (what: string): ValidationOptions => ({
  message: ({ property, value }) => `${property} is ${found(String(value))}: ${what} is needed`,
});

/** A rule of our own, which may look at the other variables. */
export const Rule = (
  holds: (value: never, all: Configuration) => boolean,
  options: ValidationOptions,
): PropertyDecorator =>
  ValidateBy(
    {
      name: 'rule',
      validator: {
        validate: (value, args) => holds(value as never, args?.object as Configuration),
      },
    },
    options,
  );

/** Converts the text of the environment. */
const converted = (convert: (text: string) => unknown): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? convert(value) : value,
  );

/** A whole number in digits, `min` to `max` inclusive. */
export function WholeNumber(min: number, max: number): PropertyDecorator {
  const options = needed(`a whole number from ${min} to ${max}`);
  const convert = (text: string): unknown => (/^\d{1,9}$/.test(text) ? Number(text) : text);
  return applyDecorators(converted(convert), IsInt(options), Min(min, options), Max(max, options));
}

export const TrueOrFalse = (): PropertyDecorator =>
  applyDecorators(
    converted((text) => (/^(true|false)$/.test(text) ? text === 'true' : text)),
    IsBoolean(needed('true or false')),
  );

/** A list, separated by commas; spaces around the commas are ignored. */
export const CommaSeparated = (): PropertyDecorator =>
  converted((text) => text.split(',').map((entry) => entry.trim()));
