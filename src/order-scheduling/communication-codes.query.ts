import { applyDecorators } from '@nestjs/common';
import { IsOptional, IsString, ValidateBy } from 'class-validator';
import type { Filters } from '../lookups/filters.js';
import { LIMITS, MAX_CODE_CHARACTERS } from '../problems/limits.js';

/** The query of the communication codes. Every rule that is broken is an issue of its own. */
export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

function IsFilter(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    IsString({ message: '$property is given more than once.' }), // then the value is a list
    TextRule({
      name: 'isNotEmpty',
      holds: (text) => text !== '',
      message: '$property is empty: give a value or leave it out.',
    }),
    TextRule({
      name: 'isShort',
      // Code points, as PostgreSQL counts characters
      holds: (text) => Array.from(text).length <= MAX_CODE_CHARACTERS,
      message: `$property has more than ${LIMITS.filter}.`,
    }),
    TextRule({
      name: 'hasNoControlCharacters',
      holds: (text) => !/\p{Cc}/u.test(text),
      message: '$property holds control characters.',
    }),
  );
}

interface TextRuleOptions {
  /** Of the constraint, another for each rule. */
  readonly name: string;
  readonly holds: (text: string) => boolean;
  readonly message: string;
}

/** A rule for a single value; a list has its own fault. */
function TextRule({ name, holds, message }: TextRuleOptions): PropertyDecorator {
  const validate = (value: unknown): boolean => typeof value !== 'string' || holds(value);
  return ValidateBy({ name, validator: { validate } }, { message });
}
