import { type Kind, type SeenList, titleOf } from '../seen-lists.js';

/** One difference that callers see, now or at a moment ahead. The members are those of `plan --json`. */
export interface Change {
  readonly kind: 'added' | 'removed' | 'changed' | 'order changed';
  readonly what: Kind;
  readonly area: string;
  /** Of a value: the property that returns it. */
  readonly property?: string | undefined;
  /** Of the property, value or record. An order that changed has none. */
  readonly name?: string;
  /** Of a record. */
  readonly description?: string | undefined;
  /** Of a record whose description changes: the one before. */
  readonly former?: string | undefined;
  /** The whole list, where its order changes. */
  readonly order?: readonly string[];
  /** RFC 3339. Absent: at once. */
  readonly at?: string;
  /** The change was planned for this moment, and will not happen. */
  readonly withdrawn?: true;
  /** Why it can break clients. */
  readonly breaks?: string;
}

/** The members that say which list a change is of. */
export function placeOf({ area, what, property }: SeenList) {
  return { area, what, property };
}

export function listTitleOf({ area, what, property }: Change): string {
  return property === undefined ? titleOf({ area, what }) : titleOf({ area, what, property });
}
