"""The bugs that planted.py plants, and what must catch each.

A mutation is one place of one file: `old` stands there exactly once and becomes `new`, which must
compile. Keep `old` short, so that it seldom has to follow a change nearby; name the quickest test
that catches it.
"""
from typing import NamedTuple

MUTATIONS = []


class Mutation(NamedTuple):
    name: str
    room: str
    what: str
    file: str
    old: str
    new: str
    test: str


def plant(name, room, what, file, old, new, test):
    MUTATIONS.append(Mutation(name, room, what, file, old, new, test))


JOURNAL_FAULTS = "program tests/faults/journal_faults 200"
CONFORMANCE = "program tests/conformance/conformance sqlite 2"
STORE_FAULTS = "program tests/faults/store_faults 60"
ON_POSTGRESQL = "on-postgresql tests/conformance/conformance postgresql 2"
BOTH_STORES = "both-stores tests/conformance/conformance 0"

# --- the journal ---------------------------------------------------------------------------------

J = "src/store/journal/journal.c"
plant("group_not_synced", "journal", "a commit is acknowledged without a sync", J,
      "result = j->disk->sync_file(j->disk, j->current.fd);\n    if (result < 0)\n        return die(",
      "if (result < 0)\n        return die(", JOURNAL_FAULTS)
plant("failed_sync_ignored", "journal", "a commit whose sync failed is acknowledged", J,
      "return die(j, \"sync\", result);", "j->error.n = 0;", JOURNAL_FAULTS)
plant("failed_write_ignored", "journal", "a commit whose write failed is acknowledged", J,
      "return die(j, \"write to\", result);", "j->error.n = 0;", JOURNAL_FAULTS)
plant("tail_not_written_again", "journal", "the last group found at the start is only synced", J,
      "if (end->last_frame) {", "if (!end) {", JOURNAL_FAULTS)
plant("tail_not_synced", "journal", "the last group found at the start is not synced", J,
      "return j->disk->sync_file(j->disk, j->current.fd);\n}", "return 0;\n}", JOURNAL_FAULTS)
plant("current_segment_released", "journal", "the segment of the applied position is used again", J,
      "j->live[gone].number < position.segment)", "j->live[gone].number <= position.segment)",
      JOURNAL_FAULTS)
plant("writes_on_after_an_error", "journal", "a journal that failed goes on", J,
      "if (j->error.n)\n        return false;\n    size_t n = frame_bytes(records.n);",
      "size_t n = frame_bytes(records.n);", JOURNAL_FAULTS)
S = "src/store/journal/segments.c"
plant("segment_not_synced", "journal", "a new segment's head is not synced before its name", S,
      "result = m->disk->sync_file(m->disk, fd);", "result = 0;", JOURNAL_FAULTS)
plant("segment_name_not_synced", "journal", "a new segment's name is not synced", S,
      "result = m->disk->sync_directory(m->disk, m->directory);", "result = 0;", JOURNAL_FAULTS)
R = "src/store/journal/replay.c"
plant("damage_taken_for_the_end", "journal", "groups behind a damaged one are dropped", R,
      "found = search_later(w);", "found = FOUND_NONE;", "unit journal")
plant("old_group_replayed", "journal", "a group that has been replayed already is replayed again", R,
      "ret->sequence != w->sequence)", "ret->sequence < 1)", "unit journal")
plant("group_elsewhere_taken", "journal", "a group copied to another place is replayed", "src/store/journal/frame.c",
      "head->offset == offset && ", "", "unit journal")
plant("torn_later_group_ignored", "journal", "a torn later group does not prove damage", R,
      "if (head.sequence > w->sequence && frame_is_of(&head, segment, offset))",
      "if (false)", "unit journal")
plant("group_skipped", "journal", "what begins just behind the position is not replayed", R,
      "w->held_is_new = before(w->from, end);",
      "w->held_is_new = before(w->from, end) && w->sequence % 97 != 13;", "unit journal")
plant("checksum_not_checked", "journal", "a torn group counts as whole", "src/store/journal/frame.c",
      "return get_le32(frame + 4) ==", "return head->length + 1 || get_le32(frame + 4) ==", "unit journal")

# --- the disk ------------------------------------------------------------------------------------

D = "src/store/disk.c"
plant("fdatasync_removed", "disk", "a sync of a file reaches no kernel", D,
      "return fdatasync(fd) < 0 ? -errno : 0;", "(void)fd;\n    return 0;", "unit disk")
plant("fdatasync_error_ignored", "disk", "a failed sync of a file is told as done", D,
      "return fdatasync(fd) < 0 ? -errno : 0;", "(void)!fdatasync(fd);\n    return 0;", "unit disk")
plant("directory_sync_removed", "disk", "a sync of a directory reaches no kernel", D,
      "int result = fsync(fd) < 0 ? -errno : 0;", "int result = 0;", "unit disk")
plant("new_directory_not_durable", "disk", "the name of a new directory is not synced", D,
      "int result = disk->sync_directory(disk, !slash ? \".\" : slash == parent ? \"/\" : parent);",
      "int result = 0;", "unit disk")
plant("short_write_taken_for_all", "disk", "what a short write left out is not written", D,
      "offset += put;\n        n -= (size_t)put;", "offset += put;\n        n = 0;", "unit disk")

plant("names_of_a_moved_folder_by_path", "disk", "a moved store makes its files in the store at its old path", D,
      "size_t n = folder ? strlen(folder->path) : 0;", "size_t n = 0;",
      "scenario test_moved_store.py::test_a_moved_store_keeps_its_journal")
plant("deleted_directory_not_noticed", "disk", "events are acknowledged into a deleted store",
      "src/store/sqlite/admission.c", "bool away = state != DIRECTORY_IN_PLACE;",
      "bool away = state == DIRECTORY_TAKEN_OVER;", "scenario test_moved_store.py::test_deleted_files_are_saved_from_the_process")
plant("directory_not_locked", "disk", "two daemons run on one store", D,
      "return flock(fd, LOCK_EX | LOCK_NB) != 0 ? -errno : disk_compare(fd, path);",
      "return disk_compare(fd, path);", "scenario test_moved_store.py::test_whoever_deletes_files_that_look_stale_lets_no_second_daemon_in")

# --- SQLite's files ------------------------------------------------------------------------------

P = "src/store/sqlite/sync_slicing_vfs.c"
plant("sqlite_sync_is_a_no_op", "sqlite", "SQLite's syncs do nothing", P,
      "    s->methods.xWrite = slicing_write;",
      "    s->methods.xWrite = slicing_write;\n"
      "    s->methods.xSync = s->below->xUnlock; /* nothing to do, from a lock that is lower */",
      "unit sync_slicing_vfs")
plant("slice_sync_error_ignored", "sqlite", "a failed sync in the middle of a write is ignored", P,
      "return s->below->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);",
      "(void)s->below->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);\n"
      "    return SQLITE_OK;", "unit sync_slicing_vfs")
plant("closing_checkpoints", "sqlite", "closing checkpoints after a failed sync",
      "src/store/sqlite/sql.c", "SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1",
      "SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0", STORE_FAULTS)
plant("equal_keys_merged", "sqlite", "a merge keeps a key twice", "src/store/sqlite/run.c",
      "if (!is_before(last, next))", "if (is_before(next, last))", "unit runs")
plant("synchronous_off", "sqlite", "SQLite syncs nothing at a checkpoint",
      "src/store/sqlite/schema.c", "PRAGMA synchronous=NORMAL", "PRAGMA synchronous=OFF",
      "unit sync_slicing_vfs")

# --- the scrub -----------------------------------------------------------------------------------

C = "src/store/sqlite/scrub.c"
plant("runs_not_scrubbed", "scrub", "one page in sixteen is not compared with its checksum", C,
      "code < 0 || !page_is_whole(", "code < 0 || i % 16 == 2 ? code < 0 : !page_is_whole(",
      "unit scrub")
plant("journal_not_scrubbed", "scrub", "the journal's groups are not read again", C,
      "(!is_new || journal_check(&check))", "(!is_new || check.journal)", "unit scrub")
plant("read_error_not_told", "scrub", "pages that cannot be read count as whole", C,
      "if ((code == 0 && page_is_whole(", "if ((code < 0 || page_is_whole(", "unit scrub")
plant("lack_told_as_damage", "scrub", "a lack of descriptors or memory counts as damage",
      "src/store/journal/journal_check.c", "if (!disk_is_passing(error))", "if (error < 0)", "unit scrub")
plant("released_segment_told", "scrub", "a segment that was given up counts as damaged",
      "src/store/journal/journal_check.c",
      "!c->stopped && journal_is_live(c->check->journal, segment)", "!c->stopped && segment > 0",
      "unit scrub")
plant("found_is_forgotten", "scrub", "a restart forgets what was found", C,
      "bool is_known = scrub_state_read(", "bool is_known = false && scrub_state_read(",
      "unit scrub")
plant("page_number_not_summed", "scrub", "a page written to another place counts as whole",
      "src/store/sqlite/page_sum.c", "(struct page_sum){number, hash_crc32c(crc, &number, sizeof number)}",
      "(struct page_sum){0, number ? crc : 0}", "unit scrub")

# --- the applier ---------------------------------------------------------------------------------

A = "src/store/sqlite/apply.c"
plant("attempts_not_applied", "applier", "the log of attempts is not written", A,
      "    apply_attempts(a);\n", "", CONFORMANCE)
plant("objects_not_applied", "applier", "settings are not written", A,
      "    apply_objects(a);\n", "", CONFORMANCE)
plant("books_not_applied", "applier", "the books are not moved", A,
      "    apply_books(a);\n", "", CONFORMANCE)
plant("waiting_not_counted", "applier", "what waits is not counted", A,
      "    apply_waiting_counts(a);\n", "", "unit sqlite_rows")
plant("position_not_advanced", "applier", "the journal's position stays behind what was applied", A,
      "meta_set_int(q, \"journal_offset\", (int64_t)m->end.offset_bytes);", "",
      "unit sqlite_store")
plant("erased_panelist_found", "applier", "a search still leads to the events of who was erased",
      "src/store/sqlite/apply_erase.c", "panelist_forget(&a->sql, &of))", "(void)0)",
      "unit sqlite_runs")
plant("erased_attempts_kept", "applier", "headers and bodies of attempts outlive an erasure",
      "src/store/sqlite/apply_erase.c", "    erase_attempts(a, id);\n    if (has_bodies(",
      "    if (has_bodies(", CONFORMANCE)
plant("erased_memtable_not_applied", "applier", "an erasure is recorded and not carried out", A,
      "    apply_erases(a);\n", "", CONFORMANCE)
plant("erased_body_kept", "applier", "an erased callback's body stays among its neighbours'",
      "src/store/sqlite/body_block.c", "low != id % BODY_BLOCK_IDS && b->of[low].p", "b->of[low].p",
      "unit body_block")
plant("later_bodies_not_read", "applier", "of a row of bodies only the first memtable's are read",
      "src/store/sqlite/body_block.c", "    while (good && r.at < r.end)\n",
      "    if (good && r.at < r.end)\n", "unit body_block")
plant("sum_of_bodies_not_compared", "applier", "a body that the disk has changed is signed and sent",
      "src/store/sqlite/body_block.c", "return lz4_sum_is_of(sum_bytes, (struct str){room, n});",
      "return lz4_sum_is_of(sum_bytes, (struct str){room, n}) || n > 0;", "unit body_block")
plant("owed_body_purged", "applier", "the body of a resend that is owed goes with the old ones",
      "src/store/sqlite/purge.c", "AND queue=%d AND state<>%d", "AND queue=%d AND state<>state AND %d",
      "unit sqlite_retention")
plant("late_end_not_noted", "applier", "a body goes by acceptance, though its callback waited for months",
      A, "    apply_write_final_late(a);\n", "", "unit sqlite_retention")
plant("late_attempts_dropped", "applier", "attempts that were kept go as soon as their callback is final",
      "src/store/sqlite/purge.c", "        move_final(a, today);", "        move_final(a, today - 400);",
      "unit sqlite_retention")

# --- checkpoints ---------------------------------------------------------------------------------

C = "src/store/sqlite/checkpoint.c"
plant("failed_checkpoint_ignored", "checkpoints", "a checkpoint whose sync failed is tried again", C,
      "    sql_fail(q, code, \"checkpoint\");\n    return CHECKPOINT_FAILED;",
      "    return CHECKPOINT_PARTIAL;", "unit sync_slicing_vfs")
plant("found_wal_believed", "checkpoints", "the WAL that a start finds is not written again", C,
      "q->wal_settled ? SQLITE_OK : settle_found_wal(q->db);", "SQLITE_OK;", "unit sync_slicing_vfs")
plant("found_wal_not_synced", "checkpoints", "the WAL that a start finds is written and not synced", C,
      "code == SQLITE_OK ? f->wal->pMethods->xSync(f->wal, SQLITE_SYNC_NORMAL) : code;", "code;",
      "unit sync_slicing_vfs")
plant("partial_checkpoint_releases", "checkpoints", "the journal forgets what is only in the WAL", C,
      "return frames == done ? CHECKPOINT_COMPLETE : CHECKPOINT_PARTIAL;",
      "return CHECKPOINT_COMPLETE;", "unit sqlite_bounds")
plant("released_before_the_checkpoint", "checkpoints", "the journal forgets first",
      "src/store/sqlite/applier.c", "    enum checkpoint_result result = checkpoint_run(q, all);",
      "    journal_release(s->journal, position);\n"
      "    enum checkpoint_result result = checkpoint_run(q, all);", STORE_FAULTS)

# --- what the domain decides, for every store: the contract's tests see it on each -----------------

V = "src/domain/acceptance.c"
plant("content_not_compared", "verdict", "another event under a known EventId counts as the same", V,
      "if (facts->known_content != c->content)", "if (c->type == 0)", BOTH_STORES)
plant("original_of_another_app", "verdict", "an app reverses what another app paid", V,
      "original->app_no != c->terms->app_no || ", "", BOTH_STORES)
plant("reversed_twice", "verdict", "a reward is taken back as often as it is asked for", V,
      "    if (original_reversed)\n", "    if (original_reversed && c->refused)\n", BOTH_STORES)
plant("reversal_need_not_fit", "verdict", "a reversal may name another panelist or offer", V,
      "    if (field)\n", "    if (field && c->refused)\n", BOTH_STORES)
plant("reversal_pays_again", "verdict", "a reversal pays the reward a second time", V,
      "e->reward_micros = -original->reward_micros;", "e->reward_micros = original->reward_micros;",
      BOTH_STORES)
plant("cap_not_kept", "verdict", "disqualifications are paid beyond the cap", V,
      "bool capped = !c->is_test && ", "bool capped = c->refused && ", BOTH_STORES)
plant("tests_count_for_the_cap", "verdict", "a test uses up what the cap allows", V,
      "if (!c->is_test && terms->disqualification_reward_micros > 0)",
      "if (terms->disqualification_reward_micros > 0)", BOTH_STORES)
plant("refused_before_it_is_looked_up", "verdict", "a repeated event is refused for its age", V,
      "if (facts->is_known)\n", "if (facts->is_known && !c->refused)\n", BOTH_STORES)
plant("import_is_sent", "verdict", "imported events owe their callbacks", V,
      "else if (!c->deliver)", "else if (c->refused)", BOTH_STORES)
plant("acceptance_goes_back_a_little", "verdict", "times of acceptance leave the order of numbers",
      "src/domain/acceptance_times.h", "return held ? last_accepted_ms : received_ms;",
      "return held ? received_ms : received_ms;", BOTH_STORES)

L = "src/domain/callback_life.c"
plant("reversal_not_held", "life", "a reversal is sent before its original is final", L,
      "s.wait = is_held_back(original) ? WAIT_HELD : WAIT_DUE;", "s.wait = WAIT_DUE;", BOTH_STORES)
plant("reversal_not_released", "life", "a held reversal is never let go", L,
      "if (s->wait != WAIT_HELD || is_held_back(original))", "if (s->wait != WAIT_HELD || end_ms > 0)",
      BOTH_STORES)
plant("released_by_a_failure", "life", "a reversal goes when its original's try fails", L,
      "if (s->wait != WAIT_HELD || is_held_back(original))", "if (s->wait != WAIT_HELD)", BOTH_STORES)
plant("released_too_early", "life", "a reversal is due before its original's end", L,
      "if (end_ms > s->place.due_ms)", "if (end_ms < 0)", BOTH_STORES)
plant("resent_reversal_not_held", "life", "a resend lets a reversal overtake its original", L,
      "s->wait = s->state == CALLBACK_PENDING && is_held_back(original) ? WAIT_HELD : WAIT_DUE;",
      "s->wait = s->state == CALLBACK_PENDING && !original ? WAIT_DUE : WAIT_DUE;", BOTH_STORES)
plant("outcome_answers_later_resend", "life", "an outcome undoes a resend it does not know of", L,
      "if (resend->no > known_no && !is_erased)", "if (resend->no > known_no + 1 && !is_erased)",
      BOTH_STORES)
plant("resend_without_a_body", "life", "a resend is accepted though nothing is left to send", L,
      "        return RESEND_BODY_ERASED;\n", "        return RESEND_ACCEPTED;\n", BOTH_STORES)
plant("resend_of_any_state", "life", "a recovery of dead ones sends delivered ones, too", L,
      "(only_states && !(only_states & 1u << state))", "(only_states && state == CALLBACK_NONE)",
      BOTH_STORES)
plant("resend_goes_on_counting", "life", "what is sent again does not begin its schedule anew", L,
      "        s->place = (struct schedule_place){0};\n", "", BOTH_STORES)
plant("later_tries_count_as_a_resend", "life", "every try behind a resend counts as asked for", L,
      "    s->manual = false;\n", "", BOTH_STORES)
plant("erased_callback_waits_on", "life", "what was erased is still due", L,
      "    check_life(s);\n    s->wait = WAIT_NOT;\n", "    check_life(s);\n", BOTH_STORES)
plant("erased_during_its_try", "life", "a failed try of what was erased meanwhile is repeated", L,
      "    if (d->is_erased)\n        life_erase(s);\n", "", BOTH_STORES)
plant("erased_counts_as_dead", "life", "an erased callback counts as one that failed", L,
      "    s->state = CALLBACK_SKIPPED;\n    s->reason = REASON_DISABLED;",
      "    s->state = CALLBACK_DEAD;\n    s->reason = REASON_ATTEMPTS;", BOTH_STORES)
plant("attempts_go_back", "life", "an older attempt lowers their number", L,
      "if (d->attempt > s->attempts)", "if (d->attempt)", "unit callback_life")
plant("impossible_decision_taken", "life", "an outcome changes what was final before", L,
      "case CALLBACK_SKIPPED: return d->is_erased;", "case CALLBACK_SKIPPED: return true;",
      "unit callback_table")

plant("trace_not_kept", "callbacks", "a callback forgets the traceparent of its event", "src/domain/payload.c",
      "options.trace = c->trace;", "options.trace = STR_NONE;", "scenario test_traceparent.py")

# --- keys and their filters ----------------------------------------------------------------------

plant("filter_forgets_one_in_a_thousand", "keys", "one key in a thousand is missing from filters",
      "src/store/sqlite/filter.c", "    struct filter_line *line = line_of(f, key);\n    for",
      "    struct filter_line *line = line_of(f, key);\n    if (key.lo % 1000 == 7)\n"
      "        return;\n    for", "unit sqlite_keys")
plant("lost_bit_of_a_filter_is_believed", "keys", "a filter's lost bit takes a known key for a new one",
      "src/store/sqlite/filter.c", "return all || line->sum != sum_of(line);", "return all;", "unit filters")
plant("applied_keys_not_in_the_filter", "keys",
      "one key in a thousand is not in the running daemon's filter", "src/store/sqlite/view.c",
      "filter_add(filter, m->events[i].key);",
      "if (i % 1000 != 999)\n                filter_add(filter, m->events[i].key);",
      "unit sqlite_keys")
K = "src/store/sqlite/key_sets.c"
plant("start_fills_the_filter_short", "keys", "a start leaves out the last key of each block", K,
      "i < run_block_count(RUN_KEYS, block); i++)", "i + 1 < run_block_count(RUN_KEYS, block); i++)",
      "unit sqlite_keys")
plant("stored_filter_is_another_segments", "keys", "a closed segment's filter has no keys",
      "src/store/sqlite/apply_keys.c", "key_sets_fill_filter(&a->sql, a->segment.no, &filter);", "",
      "unit sqlite_keys")
plant("only_the_newest_segment_is_asked", "keys", "keys of closed segments are taken for new", K,
      "if (!may_have(set, key))", "if (i != k->count || !may_have(set, key))", "unit sqlite_keys")
plant("merge_loses_a_key", "keys", "a merge of runs leaves out one key in a thousand",
      "src/store/sqlite/run_merge.c", "run_writer_add(&writer, record);",
      "if (inputs.items[0].next_id % 1000 != 1)\n            run_writer_add(&writer, record);", "unit runs")
B = "src/store/sqlite/bundle.c"
plant("slice_ends_early", "keys", "merging into a bundle leaves out the last key of a slice", B,
      "(UINT64_C(1) << shift) - 1};", "(UINT64_C(1) << shift) - 2};", "unit bundles")
plant("erased_from_finished_bundles_only", "keys",
      "a panelist who is erased stays in a bundle that is being merged", B,
      "SELECT DISTINCT set_no FROM run\");",
      "SELECT DISTINCT set_no FROM run WHERE set_no NOT IN (SELECT no FROM bundle WHERE steps<slices)\");",
      "unit bundles")
plant("segments_deleted_while_asked", "keys", "segments are deleted while look-ups still ask them", B,
      "known < m.no)", "known > m.no)", "unit bundles")
plant("bundle_asked_before_it_is_whole", "keys", "a bundle takes its segments' place with its first slices", B,
      "WHERE steps>=slices ORDER BY no DESC", "WHERE steps>0 ORDER BY no DESC", "unit key_sets")
plant("bundle_asked_beside_its_bundle", "keys", "what became a bundle of a higher level is asked as well", B,
      "h.level>m.level", "h.level>m.level+1", "unit bundles")
plant("bundle_filter_asked_for_another_key", "keys", "a bundle's filter is asked for other bits than it has",
      K, "*key = bundle_filter_key(*key, set->slice_bits);", "", "unit key_sets")

# --- packed keys on PostgreSQL -------------------------------------------------------------------

P = "src/store/postgresql/pack_keys.c"
ON_KEYS = "on-postgresql tests/conformance/postgresql_keys"
plant("packed_keys_not_looked_up", "packed keys", "a packed EventId counts as new",
      "src/store/postgresql/key_page.h", "p.at%16=1", "p.at%16=17", ON_POSTGRESQL)
plant("page_before_a_slice_stays", "packed keys", "a slice leaves the page that its first key falls into", P,
      "first>=coalesce((SELECT first", "first>=coalesce((SELECT NULL::uuid", ON_KEYS)
plant("two_pack_one_account", "packed keys", "two nodes pack an account at the same time", P,
      "DO UPDATE SET packed=key_pack.packed", "DO NOTHING", ON_KEYS)
plant("new_keys_of_a_slice_dropped", "packed keys", "keys that came while a slice was found are deleted", P,
      "p->count = 0;\n    read_rows(p, pg_result(pg, rows));", "read_rows(p, pg_result(pg, rows));\n    p->count = 0;",
      ON_KEYS)

# --- which database ------------------------------------------------------------------------------

plant("any_database_will_do", "which database", "a connection uses whatever store it reaches",
      "src/store/postgresql/pg_connect.c", "!pg->identity || pg_identity_is(pg, pg->identity)", "!pg->identity || pg->connection",
      "postgresql test_other_servers.py::test_another_store_at_the_same_address_is_left_alone")
plant("empty_server_taken", "which database", "a start makes tables though a server that may have the store is away",
      "src/store/postgresql/identity.c", "*ret_found || silent.n == 0", "*ret_found || silent.n != 1",
      "postgresql test_other_servers.py::test_the_first_start_waits_for_all_servers")

# --- fences --------------------------------------------------------------------------------------

plant("fence_not_checked", "fences", "outcomes under an old fence are stored",
      "src/store/postgresql/outcomes.c", "o->refused = o->fence != fences[leases_shard(o->lane)];",
      "o->refused = o->fence < 0 && fences[leases_shard(o->lane)] < 0;", ON_POSTGRESQL)
plant("fence_only_compared_upwards", "fences", "outcomes under a later fence are stored",
      "src/store/postgresql/outcomes.c", "o->refused = o->fence != fences[", "o->refused = o->fence < fences[",
      ON_POSTGRESQL)
plant("one_refusal_refuses_all", "fences", "a refused outcome takes its batch along",
      "src/store/postgresql/outcomes.c", "            rec->items[kept++] = o;",
      "            rec->items[kept++] = o;\n        else\n            i = rec->count;", ON_POSTGRESQL)
plant("repeated_attempt_taken_for_new", "fences", "the database refuses an attempt that is recorded again",
      "src/store/postgresql/outcomes.c", "attempts >= d.attempt ||", "attempts < 0 ||",
      ON_POSTGRESQL)
PRESUMED = "postgresql test_presumed_delivered.py::"
plant("erasure_passes_a_first_delivery", "presumed delivered", "an erasure does not wait for an outcome that holds no event",
      "src/store/postgresql/commands.c", '" FOR UPDATE OF w"', '""', PRESUMED + "test_an_erasure_and_the_outcome_of_the_first_attempt_at_once")
plant("original_known_without_a_lock", "presumed delivered", "a reversal is held back by an original that has been delivered meanwhile",
      "src/store/postgresql/fetch_rows.c", "return locks ? lock_first_attempts(pg, ret, lock) : PG_OK;",
      "return locks && lock == FETCH_UNLOCKED ? lock_first_attempts(pg, ret, lock) : PG_OK;",
      PRESUMED + "test_a_reversal_and_the_outcome_of_its_original_at_once")
plant("row_says_less_than_the_outcome", "presumed delivered", "a callback that failed first looks delivered at the first attempt",
      "src/store/postgresql/row_changes.c", "if (row->presumed && now->life.state == CALLBACK_DELIVERED && pg_row_may_presume(e, now))",
      "if (row->presumed && now->life.state != CALLBACK_PENDING)", ON_POSTGRESQL)
plant("first_delivery_without_money", "presumed delivered", "the books of what is recorded without reading its row lack its amounts",
      "src/store/postgresql/pg_row.c", ".reward_micros = o->presumed.reward_micros,", ".reward_micros = 0,", ON_POSTGRESQL)
plant("first_delivery_of_no_type", "presumed delivered", "a reversal stays held back when its original's row is not read",
      "src/store/postgresql/pg_row.c", ".type = o->presumed.type,", ".type = EVENT_SURVEY_COMPLETED,", ON_POSTGRESQL)
plant("own_callback_handed_out_again", "presumed delivered", "what another node accepted under the number of a failed try is sent twice",
      "src/store/postgresql/transaction_retry.c", "writer->unknown ? HANDOFF_FENCE_UNKNOWN : 0", "0",
      "postgresql test_doubt.py::test_what_another_node_has_accepted_meanwhile_is_sent_once")
plant("first_delivery_of_no_age", "presumed delivered", "what is recorded without reading its row looks final late",
      "src/store/postgresql/pg_row.c", ".accepted_ms = o->presumed.accepted_ms,", ".accepted_ms = 0,",
      PRESUMED + "test_a_delivery_leaves_the_row_as_it_is")
plant("usual_row_with_a_cap", "presumed delivered", "a payment that the cap counts is stored as one that it does not",
      "src/store/postgresql/pg_row.c", "!e->cap && !e->reason_skipped;", "!e->reason_skipped;",
      ON_POSTGRESQL)
plant("period_begins_unsaid", "presumed delivered", "an account's second period has no first number",
      "src/store/postgresql/intake_write.c", "if (!item->begins_period)",
      "if (!item->begins_period || item->event.event_no > 1)", ON_POSTGRESQL)
plant("repeated_attempts_count_twice", "presumed delivered", "attempts that are recorded again count again",
      "src/store/postgresql/outcomes.c", "        if (!rec->is_repeated)\n            delivery_stats_rows_count(",
      "            delivery_stats_rows_count(", ON_POSTGRESQL)
N = "src/store/postgresql/nodes.c"
plant("claim_keeps_the_fence", "fences", "a claim does not raise the fence", N,
      "SET node=$3,fence=t.fence+1", "SET node=$3,fence=greatest(t.fence,1)", ON_POSTGRESQL)
plant("claim_beside_a_renewal", "fences", "a claim does not wait for a late renewal of the owner", N,
      "AND node<>$3\"\n                          \" ORDER BY node FOR UPDATE SKIP LOCKED),", "AND node<>$3),",
      "postgresql test_nodes_leases.py::test_a_claim_waits_for_a_renewal_that_is_under_way")
C = "src/store/postgresql/cluster_record.c"
plant("empty_database_is_a_cluster", "clusters", "an empty database in a cluster's place becomes a store", C,
      ": is_empty(pg, cluster);", ": is_empty(pg, cluster) || cluster < 99;",
      "postgresql test_clusters_replaced.py::test_an_empty_database_is_never_made_a_cluster_that_has_one")
plant("database_made_anew_is_used", "clusters", "a running node goes on with a database that was made anew",
      "src/store/postgresql/identity.c", "if (pg_store_id_is_set(&wanted->id) &&", "if (!pg_store_id_is_set(&wanted->id) &&",
      "postgresql test_clusters_replaced.py::test_a_database_that_was_made_anew_is_left_alone_until_its_record_is_deleted")
M = "src/store/nodes/shards.c"
plant("first_back_takes_all", "fences", "the first node after an outage claims the others' shards", M,
      "return mono_ms < m->others_back_mono_ms;", "return mono_ms < m->others_back_mono_ms - NODE_OTHERS_BACK_MS;",
      "unit shards")
plant("starts_behind_the_lease", "fences", "exchanges start when the lease is over",
      "src/store/leases.h", "return !l || mono_ms < leases_end_mono_ms(l);",
      "return !l || mono_ms > INT64_MIN;", "unit shards")
plant("draining_shard_published", "fences", "exchanges start in a shard that is about to be released",
      "src/store/leases.c", "hold->state == SHARD_HELD ? hold->fence : 0", "hold->fence", "unit shards")
plant("lease_without_margin", "fences", "a node believes in its lease as long as the database", M,
      "+ NODE_LEASE_MS - NODE_MARGIN_MS", "+ NODE_LEASE_MS", "unit shards")
plant("new_fence_not_noticed", "fences", "a shard claimed anew is held under the old fence", M,
      "(!mine || hold->fence != seen->shards[i].fence)", "!mine", "unit shards")
plant("busy_shard_released", "fences", "a shard is given away with exchanges under way", M,
      "(busy == 0 || mono_ms - hold->drain_mono_ms >= SHARD_DRAIN_MS)", "busy >= 0", "unit shards")
plant("exchange_begins_without_the_fence", "fences", "an exchange starts under a lost fence",
      "src/store/leases.h", "if (leases_fence(l, lane) == fence)\n        return true;",
      "if (leases_fence(l, lane) >= 0 || fence)\n        return true;", "unit leases")

# --- authorization -------------------------------------------------------------------------------

API = "src/api/dispatch.c"
W = "src/api/caller.c"
RIGHTS = "scenario test_rights_table.py"
TENANCY = "scenario test_tenancy.py"
plant("scope_not_checked", "authorization", "any key may do what needs a scope", "src/api/call.c",
      "return (c->scopes & (SCOPE_ADMIN | (uint32_t)scope)) != 0;", "return c->scopes || scope;",
      RIGHTS)
plant("operator_routes_open", "authorization", "a partner's key reaches the operator's routes", W,
      "if ((c->route->flags & ROUTE_OPERATOR) && !c->is_operator)", "if (c->magic == 0)", RIGHTS)
plant("account_not_compared", "authorization", "an id of another partner's object is enough", API,
      "static bool owns(struct call *c, uint32_t account_no)\n{",
      "static bool owns(struct call *c, uint32_t account_no)\n{\n    c->account_no = account_no;\n"
      "    if (account_no)\n        return true;", TENANCY)
plant("partner_id_not_compared", "authorization",
      "an operator's partnerId and the object may be of two partners", API,
      "if (c->account_no && c->account_no != account_no)", "if (c->magic == 0)",
      "scenario test_tenancy.py::test_partner_id_of_another_is_404")
plant("key_of_another_partner_revoked", "authorization", "a partner revokes another one's key",
      "src/accounts/change_key.c", "if (!k || k->account_no != account_no) {", "if (!k) {",
      "unit accounts")
plant("disabled_partner_let_in", "authorization", "keys of a disabled partner work on", W,
      "(p && p->enabled)", "p != NULL",
      "scenario test_tenancy.py::test_a_disabled_partner")
plant("csrf_not_checked", "authorization", "other sites change things with the cookie", W,
      "    if (!c->person.user_id.p)\n        return true;\n", "    if (c->magic != 0)\n        return true;\n",
      "scenario test_rights_table.py::test_from_other_pages_nothing_gets_in")
plant("expired_key_let_in", "authorization", "a key works on behind its end", W,
      "if (!key || api_key_is_over(key, now_ms)) {", "if (!key) {",
      "scenario test_accounts.py::test_a_key_expires_and_says_when_it_was_used")
plant("not_judged_again_behind_the_queue", "authorization",
      "a change that waited is made for who may not any more", "src/api/mutation.c",
      "return caller_judge(c) &&", "return c->magic != 0 &&",
      "scenario test_revocation.py::test_changes_that_wait_behind_the_revocation")
plant("live_stream_outlives_its_key", "authorization", "a stream goes on behind a revocation",
      "src/api/live.c", " || !caller_judge(c)", "",
      "scenario test_revocation.py::test_live_streams_end")
plant("analyst_may_write", "authorization", "an analyst has a scope too many",
      "src/people/roles.c", "{\"analyst\", false, false, READS}",
      "{\"analyst\", false, false, READS | SCOPE_APPS_WRITE}", "unit people")
plant("key_manages_its_betters", "authorization", "a key with people:write alone makes itself owner",
      "src/people/roles.c", "role_scopes(role) & ~scopes", "0",
      "scenario test_people_rights.py::test_a_key_manages_only_whom_it_could_make")
plant("salt_of_its_own", "authorization", "a wrong password takes as long as there are accounts of its Email",
      "src/api/sign_in.c", "other ? other->password : STR_NONE", "STR_NONE",
      "scenario test_people.py::test_how_many_accounts_an_email_has_is_not_heard")
plant("page_of_waiting_cut_short", "callbacks", "a list of what waits ends where the newest events do not wait",
      "src/store/postgresql/pg_reads.c", "fate == PG_OK && is_next && !l->more", "false",
      "postgresql test_database.py::test_a_list_of_what_waits_where_much_waits")
plant("stop_waits_for_reads", "sqlite", "a stop waits for minutes for a read of a large day",
      "src/store/sqlite/reads.c", "at_ms != 0 &&", "at_ms < 0 &&",
      "unit sqlite_bounds")
E = "src/people/people.c"
plant("idle_session_goes_on", "authorization", "sessions do not end", E,
      "!session_is_over(s, now_ms) &&", "", "unit people")
plant("disabled_person_let_in", "authorization", "sessions of a disabled person work on", E,
      "bool good = u && u->enabled &&", "bool good = u &&", "unit people")
plant("code_is_good_twice", "authorization", "a code of the second factor may be replayed",
      "src/api/sign_in.c", "used_once_add(&to->totp_used, step);", "used_once_add(&to->totp_used, step - 1);",
      "scenario test_people.py::test_the_second_factor")
plant("passkey_is_good_twice", "authorization", "an assertion of a passkey may be replayed",
      "src/people/passkey.c", "used_once_add(&k->challenges_ms, challenge_ms);", "",
      "scenario test_passkeys.py::test_an_assertion_signs_in_once")
plant("echoed_sig_in_capitals_shown", "authorization", "a Sig that a receiver echoes in capitals is shown",
      "src/domain/answer_secrets.c", "    if (other != first)\n", "    if (other == 0)\n",
      "unit signature")
plant("passkey_of_another_page", "authorization", "a passkey signs in from another site's page",
      "src/people/passkey.c", "!str_eq(text_of(data, \"origin\"), ask->origin)", "false",
      "scenario test_passkeys.py::test_what_was_not_asked_for_adds_nothing_and_signs_in_nobody")
plant("link_of_another_session", "authorization", "a link that one session began another one ends",
      "src/api/identity.c", "&& str_is(l->flow.begun_by, session)", "",
      "scenario test_identity.py::test_a_link_is_ended_by_the_session_that_began_it")
plant("wrong_tries_not_counted", "authorization", "passwords may be guessed as fast as can be",
      "src/people/throttle.c", "b->empty_at_ms = allowance_use(t->tries, b->empty_at_ms, now_ms);",
      "b->empty_at_ms = now_ms;", "unit people")
