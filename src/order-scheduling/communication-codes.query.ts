import { applyDecorators } from '@nestjs/common';
import { IsOptional, IsString, ValidateBy } from 'class-validator';
import type { Filters } from '../lookups/filters.js';
import { LIMITS, MAX_CODE_CHARACTERS } from '../problems/limits.js';

/** The query of the communication codes. Each rule that a value breaks is an issue of its own. */
export class CommunicationCodesQuery implements Filters {
  @IsFilter()
  readonly codeType?: string;

  @IsFilter()
  readonly code?: string;
}

function IsFilter(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    IsString({ message: '$property is given more than once.' }), // the query parser makes a list of such values
    TextRule({
      name: 'isNotEmpty',
      holds: (text) => text !== '',
      message: '$property is empty: give a value or leave it out.',
    }),
    TextRule({
      name: 'isShort',
      // The limit counts code points, as PostgreSQL counts characters
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
  /** The name of the constraint, which must differ from those of the other rules. */
  readonly name: string;
  readonly holds: (text: string) => boolean;
  readonly message: string;
}

/** A rule for the text of a parameter. A list of texts passes, because IsString refuses it already. */
function TextRule({ name, holds, message }: TextRuleOptions): PropertyDecorator {
  const validate = (value: unknown): boolean => typeof value !== 'string' || holds(value);
  return ValidateBy({ name, validator: { validate } }, { message });
}
