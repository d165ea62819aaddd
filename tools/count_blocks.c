// A plugin for qemu's user mode, loaded by tools/instructions.py: at the end it writes the address of each
// block of instructions that ran, the number of its instructions and how often it was entered.
// The declarations are those of qemu's plugin interface, version 1, whose header Debian does not ship.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t plugin_id;
struct qemu_plugin_tb;

int qemu_plugin_version = 1;
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id,
                                           void (*)(plugin_id, struct qemu_plugin_tb*));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void*), void*);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int operation, void*,
                                              uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb*);

enum { kAdd = 0 };

struct Block {
  uint64_t address, instructions, entries;
  struct Block* next;
};

static struct Block* blocks;
static const char* output;

static void on_translation(plugin_id id, struct qemu_plugin_tb* code) {
  (void)id;
  struct Block* block = calloc(1, sizeof *block);
  block->address = qemu_plugin_tb_vaddr(code);
  block->instructions = qemu_plugin_tb_n_insns(code);
  block->next = __atomic_load_n(&blocks, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(&blocks, &block->next, block, 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  qemu_plugin_register_vcpu_tb_exec_inline(code, kAdd, &block->entries, 1);
}

static void write_counts(plugin_id id, void* unused) {
  (void)id, (void)unused;
  FILE* file = fopen(output, "w");
  for (const struct Block* block = blocks; block; block = block->next) {
    if (block->entries > 0)
      fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", block->address, block->instructions,
              block->entries);
  }
  fclose(file);
}

int qemu_plugin_install(plugin_id id, const void* info, int count, char** arguments) {
  (void)info, (void)count;
  output = strchr(arguments[0], '=') + 1;  // out=FILE
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, write_counts, NULL);
  return 0;
}
