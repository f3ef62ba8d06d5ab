// The border between a Verilated model and Rust. Every entry catches C++
// exceptions, since none may cross it.

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

// Initial values. Verilator's own generators are not used: their state is per
// thread and reseeded by any other thread's model, and newer versions give all
// rows of a memory the same value.
struct InitialValues {
    int mode;  // 0: zeros, 1: ones, 2: random
    uint64_t state;

    uint64_t next() {
        if (mode == 0) return 0;
        if (mode == 1) return ~uint64_t{0};
        uint64_t z = (state += 0x9e3779b97f4a7c15ULL);  // SplitMix64
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
};

thread_local InitialValues* t_initial = nullptr;

uint64_t shim_initial(int bits) {
    return t_initial ? t_initial->next() & (~uint64_t{0} >> (64 - bits)) : 0;
}
IData shim_initial_i(int bits) { return static_cast<IData>(shim_initial(bits)); }
QData shim_initial_q(int bits) { return shim_initial(bits); }
WDataOutP shim_initial_w(int bits, WDataOutP out) {
    for (int at = 0; at < bits; at += 32) {
        out[at / 32] = static_cast<EData>(shim_initial(bits - at < 32 ? bits - at : 32));
    }
    return out;
}

}  // namespace

#define VL_RAND_RESET_I(bits, ...) shim_initial_i(bits)
#define VL_RAND_RESET_Q(bits, ...) shim_initial_q(bits)
#define VL_RAND_RESET_W(bits, out, ...) shim_initial_w(bits, out)
#define VL_SCOPED_RAND_RESET_I(bits, ...) shim_initial_i(bits)
#define VL_SCOPED_RAND_RESET_Q(bits, ...) shim_initial_q(bits)
#define VL_SCOPED_RAND_RESET_W(bits, out, ...) shim_initial_w(bits, out)
#define VL_SCOPED_RAND_RESET_ASSIGN_I(bits, ...) shim_initial_i(bits)
#define VL_SCOPED_RAND_RESET_ASSIGN_Q(bits, ...) shim_initial_q(bits)
#define VL_SCOPED_RAND_RESET_ASSIGN_W(bits, out, ...) shim_initial_w(bits, out)

@SOURCES@

// The defaults of these end the process.
void vl_finish(const char*, int, const char*) { Verilated::threadContextp()->gotFinish(true); }
void vl_fatal(const char* file, int line, const char*, const char* message) {
    std::string text;
    if (file && *file) text = std::string{file} + ":" + std::to_string(line) + ": ";
    throw std::runtime_error{text + (message ? message : "fatal error")};
}
void vl_stop(const char* file, int line, const char* scope) {
    vl_fatal(file, line, scope, "Verilog $stop");
}

namespace {

using Root = Vmodel___024root;

void apply(Root& root, const uint64_t* __restrict in) {
@APPLY@
}

void sample(const Root& root, uint64_t* __restrict out) {
@SAMPLE@
}

struct Memory {
    std::string path;
    uint64_t rows;
    uint64_t width;
    uint64_t stride;  // bytes per row
    unsigned char* data;
};

struct Model {
    // In this order: the model's destructor needs its context.
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<Vmodel> top;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace;
#endif
    bool tracing = false;
    uint64_t cycle = 0;
    InitialValues initial{};
    std::vector<Memory> memories;
    std::string error;
};

// Models may be used from one thread after another; what Verilator keeps per
// thread is set on each entry.
struct Enter {
    explicit Enter(Model& m) {
        Verilated::threadContextp(m.context.get());
        t_initial = &m.initial;
    }
    ~Enter() { t_initial = nullptr; }
};

template <typename F>
int guarded(Model& m, F body) {
    try {
        Enter enter{m};
        body();
        return 0;
    } catch (const std::exception& e) {
        m.error = e.what();
    } catch (...) {
        m.error = "unknown C++ exception";
    }
    return 1;
}

// Rows, and bytes per row, by the type that Verilator chose.
template <typename T>
struct Shape {
    static constexpr uint64_t rows = 1;
    static constexpr uint64_t stride = sizeof(T);
};
template <typename T, std::size_t N>
struct Shape<VlUnpacked<T, N>> {
    static constexpr uint64_t rows = N * Shape<T>::rows;
    static constexpr uint64_t stride = Shape<T>::stride;
};

template <typename T>
void add_memory(Model& m, const char* path, T& place, uint64_t bits) {
    using S = Shape<T>;
    static_assert(sizeof(T) == S::rows * S::stride, "rows lie next to each other");
    const Memory memory{path, S::rows, bits / S::rows, S::stride,
                        reinterpret_cast<unsigned char*>(&place)};
    if (memory.width * S::rows != bits || memory.width > 8 * S::stride) {
        throw std::logic_error{std::string{"unexpected layout of memory "} + path};
    }
    m.memories.push_back(memory);
}

void add_memories(Model& m) {
    Vmodel__Syms& symbols = *m.top->rootp->vlSymsp;
    (void)symbols;
@MEMORIES@
}

uint64_t row_words(const Memory& memory) { return (memory.width + 63) / 64; }

// Little-endian hosts keep a row's bytes in the order of its words, whatever
// the size of Verilator's elements.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "little-endian hosts only");

// A waveform shows what changed by Verilator's own account of which processes
// ran; a memory written from outside is none of them.
template <typename T>
auto mark_all_changed(T& root, int) -> decltype(root.__Vm_traceActivity, void()) {
    std::memset(static_cast<void*>(&root.__Vm_traceActivity), 1, sizeof(root.__Vm_traceActivity));
}
template <typename T>
void mark_all_changed(T&, long) {}

// What eval() does around the evaluation itself costs more than a small design:
// locks on queues that only threads of the model's own and SystemVerilog classes
// ever fill. It is enough to empty those now and then. Tracing needs it each
// time, for the note that something may have changed.
template <bool Tracing>
void evaluate(Model& m, Root& root) {
    if (Tracing || m.cycle % 1024 == 0) {
        m.top->eval();
    } else {
        Vmodel___024root___eval(&root);
    }
}

template <bool Tracing>
void run_cycles(Model& m, uint64_t cycles, const uint64_t* __restrict in, uint64_t* __restrict out) {
    Root& root = *m.top->rootp;
    for (uint64_t i = 0; i < cycles; ++i) {
        const uint64_t now = 10 * m.cycle;
        m.context->time(now);
        apply(root, in);
        in += @IN_WORDS@;
#if SHIM_CLOCKED
        root.@CLOCK@ = 0;
#endif
        evaluate<Tracing>(m, root);
#if VM_TRACE
        if (Tracing) m.trace->dump(now);
#endif
        sample(root, out);
        out += @OUT_WORDS@;
#if SHIM_CLOCKED
        m.context->time(now + 5);
        root.@CLOCK@ = 1;
        evaluate<Tracing>(m, root);
#if VM_TRACE
        if (Tracing) m.trace->dump(now + 5);
#endif
#endif
        ++m.cycle;
    }
}

void destroy(void* handle) {
    auto* m = static_cast<Model*>(handle);
    guarded(*m, [&] {
#if VM_TRACE
        if (m->tracing) m->trace->close();
#endif
        m->top->final();
    });
    delete m;
    // Nothing on this thread may keep pointing to the context just deleted.
    Verilated::threadContextp(nullptr);
}

// Returns null on failure, with the reason in `error`.
void* create(int mode, uint64_t seed, char* error, uint64_t error_size) {
    std::unique_ptr<Model> m{new Model};
    m->context.reset(new VerilatedContext);
    m->initial = InitialValues{mode, seed};
    const int failed = guarded(*m, [&] {
        m->context->randReset(mode);
        // 0 would ask for a seed from the operating system.
        m->context->randSeed(static_cast<int>(((seed ^ (seed >> 32)) & 0x3fffffff) | 0x40000000));
#if VM_TRACE
        m->context->traceEverOn(true);
#endif
        m->top.reset(new Vmodel{m->context.get(), "TOP"});
        static const uint64_t zeros[@IN_WORDS@ + 1] = {};
        apply(*m->top->rootp, zeros);
#if SHIM_CLOCKED
        m->top->rootp->@CLOCK@ = 0;
#endif
        // Runs initial blocks, so that memories can be read and written from now on.
        m->top->eval();
        add_memories(*m);
    });
    if (!failed) return m.release();
    std::strncpy(error, m->error.c_str(), error_size - 1);
    return nullptr;
}

int run(void* handle, uint64_t cycles, const uint64_t* in, uint64_t* out) {
    Model& m = *static_cast<Model*>(handle);
    return guarded(m, [&] {
        if (m.tracing) {
            run_cycles<true>(m, cycles, in, out);
        } else {
            run_cycles<false>(m, cycles, in, out);
        }
    });
}

const char* last_error(void* handle) { return static_cast<Model*>(handle)->error.c_str(); }
uint64_t cycle(void* handle) { return static_cast<Model*>(handle)->cycle; }
int finished(void* handle) { return static_cast<Model*>(handle)->context->gotFinish(); }
uint64_t memory_count(void* handle) { return static_cast<Model*>(handle)->memories.size(); }

const char* memory_info(void* handle, uint64_t index, uint64_t* rows, uint64_t* width) {
    const Memory& memory = static_cast<Model*>(handle)->memories[index];
    *rows = memory.rows;
    *width = memory.width;
    return memory.path.c_str();
}

void memory_read(void* handle, uint64_t index, uint64_t* out) {
    const Memory& memory = static_cast<Model*>(handle)->memories[index];
    const uint64_t words = row_words(memory);
    for (uint64_t row = 0; row < memory.rows; ++row) {
        out[(row + 1) * words - 1] = 0;  // narrower elements fill it only in part
        std::memcpy(out + row * words, memory.data + row * memory.stride, memory.stride);
    }
}

int memory_write(void* handle, uint64_t index, uint64_t row, const uint64_t* in) {
    Model& m = *static_cast<Model*>(handle);
    return guarded(m, [&] {
        const Memory& memory = m.memories[index];
        const uint64_t words = row_words(memory);
        std::vector<uint64_t> clean(in, in + words);
        // Verilator relies on unused bits being zero.
        if (memory.width % 64) clean.back() &= ~uint64_t{0} >> (64 - memory.width % 64);
        std::memcpy(memory.data + row * memory.stride, clean.data(), memory.stride);
        // Combinational logic behind the memory is evaluated only when a signal
        // it knows of changes: bring it up to date by hand.
        Vmodel___024root___eval_settle(m.top->rootp);
        mark_all_changed(*m.top->rootp, 0);
    });
}

int trace_open(void* handle, const char* path) {
    Model& m = *static_cast<Model*>(handle);
    return guarded(m, [&] {
#if VM_TRACE
        if (!m.trace) {
            m.trace.reset(new VerilatedVcdC);
            m.top->trace(m.trace.get(), 99);
        }
        m.trace->open(path);
        if (!m.trace->isOpen()) throw std::runtime_error{std::string{"cannot write "} + path};
        m.tracing = true;
#else
        (void)path;
#endif
    });
}

int trace_close(void* handle) {
    Model& m = *static_cast<Model*>(handle);
    return guarded(m, [&] {
#if VM_TRACE
        m.tracing = false;
        if (m.trace) m.trace->close();
#endif
    });
}

int coverage_write(void* handle, const char* path) {
    Model& m = *static_cast<Model*>(handle);
    return guarded(m, [&] {
#if VM_COVERAGE
        m.context->coveragep()->write(path);
#else
        (void)path;
#endif
    });
}

// Mirrors `Api` on the Rust side, field by field.
struct Api {
    uint64_t abi;
    uint64_t in_words;
    uint64_t out_words;
    void* (*create)(int, uint64_t, char*, uint64_t);
    void (*destroy)(void*);
    int (*run)(void*, uint64_t, const uint64_t*, uint64_t*);
    const char* (*last_error)(void*);
    uint64_t (*cycle)(void*);
    int (*finished)(void*);
    uint64_t (*memory_count)(void*);
    const char* (*memory_info)(void*, uint64_t, uint64_t*, uint64_t*);
    void (*memory_read)(void*, uint64_t, uint64_t*);
    int (*memory_write)(void*, uint64_t, uint64_t, const uint64_t*);
    int (*trace_open)(void*, const char*);
    int (*trace_close)(void*);
    int (*coverage_write)(void*, const char*);
};

const Api api = {
    @ABI@,        @IN_WORDS@,  @OUT_WORDS@, create,      destroy,      run,
    last_error,   cycle,       finished,    memory_count, memory_info, memory_read,
    memory_write, trace_open,  trace_close, coverage_write,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const Api* verilated_model_api() { return &api; }
