import OrderedStore
import Testing

@Suite("Every engine", .serialized, .timeLimit(.minutes(2)))
struct EngineTests {
    @Test(arguments: Engine.allCases)
    func `keys compare as unsigned bytes, shorter before longer`(_ engine: Engine) async throws {
        let ordered: [Bytes] = [
            [], [0], [0, 0], [0, 255], [1], [97], [97, 0], [97, 98], [127], [128], [255], [255, 0],
        ]
        try await engine.withStore { store in
            try await store.write(home) { transaction in
                for key in ordered.reversed() { transaction.set(key, key) }
            }
            #expect(try await store.all().map(\.key) == ordered)
            #expect(try await store.all().map(\.value) == ordered)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a read that expects keys finds the same as any other, whatever it reads`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "1", "b": "2", "c": "3"])
            try await store.put(["a": "other"], in: other)
            let keys = [bytes("a"), bytes("c"), bytes("absent")]
            let expected = try await store.read(home, expecting: keys) { try await $0.get(keys) }
            #expect(expected == [bytes("1"), bytes("3"), nil])
            #expect(try await store.read(home, expecting: keys) { try await $0.get(bytes("b")) } == bytes("2"))
            #expect(try await store.read(other, expecting: keys) { try await $0.get(bytes("a")) } == bytes("other"))
            #expect(try await store.read(home, expecting: []) { try await $0.get(bytes("a")) } == bytes("1"))
            let scanned = try await store.read(home, expecting: keys) { try await $0.scan(everything, limit: 9) }
            #expect(scanned.keys == ["a", "b", "c"])
            // A body that goes on without what it did not expect is run again all the same.
            let swallowed = try await store.read(home, expecting: keys) { transaction in
                (try? await transaction.get(bytes("b"))) ?? nil
            }
            #expect(swallowed == bytes("2"))
            await #expect(throws: Refusal.self) {
                try await store.read(home, expecting: keys) { _ in throw Refusal() }
            }
            let many = (0..<40).map { bytes("key \($0)") } + [bytes("a")]
            #expect(try await store.read(home, expecting: many) { try await $0.get(many) }.last == bytes("1"))
        }
    }

    @Test(arguments: Engine.allCases)
    func `get answers in the order asked, nil for a missing key`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "1", "c": "", "big": String(repeating: "x", count: 100_000)])
            let keys = ["c", "b", "a", "a", "big"].map(bytes)
            let values = try await store.read(home) { try await $0.get(keys) }
            #expect(values.map { $0?.count } == [0, nil, 1, 1, 100_000])
            #expect(try await store.read(home) { try await $0.get([Bytes]()) }.isEmpty)
            #expect(try await store.value("a", in: other) == nil)
        }
    }

    @Test(arguments: Engine.allCases)
    func `scan keeps to its range, limit and direction`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "", "b": "", "c": "", "d": ""])
            let scans = try await store.read(home) { transaction in
                [
                    try await transaction.scan(range("b", "d"), limit: 9),
                    try await transaction.scan(range("a", "z"), limit: 2),
                    try await transaction.scan(range("a", "z"), limit: 2, reverse: true),
                    try await transaction.scan(range("a", "d"), limit: 9, reverse: true),
                    try await transaction.scan(range("a", "z"), limit: 0),
                    try await transaction.scan(range("d", "b"), limit: 9),
                    try await transaction.scan(range("aa", "aaa"), limit: 9),
                ]
            }
            #expect(scans.map(\.keys) == [["b", "c"], ["a", "b"], ["d", "c"], ["c", "b", "a"], [], [], []])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a transaction sees its own writes`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "1", "b": "1", "c": "1", "d": "1", "e": "1"])
            try await store.write(home) { transaction in
                transaction.clear(range("b", "d"))
                transaction.set(bytes("c"), bytes("2"))
                transaction.set(bytes("bb"), bytes("2"))
                transaction.clear(bytes("e"))
                transaction.clear(range("f", "g"))
                #expect(try await transaction.get(bytes("b")) == nil)
                #expect(
                    try await transaction.get(["a", "b", "c", "e"].map(bytes)) == [bytes("1"), nil, bytes("2"), nil])
                let forward = try await transaction.scan(range("a", "z"), limit: 9)
                #expect(forward.keys == ["a", "bb", "c", "d"])
                #expect(try await transaction.scan(range("a", "z"), limit: 2).keys == ["a", "bb"])
                #expect(try await transaction.scan(range("a", "z"), limit: 2, reverse: true).keys == ["d", "c"])
                #expect(try await transaction.scan(range("b", "c"), limit: 2, reverse: true).keys == ["bb"])
                transaction.clear(range("a", "z"))
                #expect(try await transaction.scan(range("a", "z"), limit: 9).isEmpty)
                transaction.set(bytes("a"), bytes("3"))
            }
            #expect(try await store.all().keys == ["a"])
            #expect(try await store.value("a") == "3")
        }
    }

    @Test(arguments: Engine.allCases)
    func `functions over Reading serve reads and writes`(_ engine: Engine) async throws {
        @Sendable func count(_ transaction: some Reading) async throws -> Int {
            try await transaction.scan(everything, limit: 100).count
        }
        try await engine.withStore { store in
            let inside = try await store.write(home) { transaction in
                transaction.set([1], [])
                return try await count(transaction)
            }
            #expect(inside == 1)
            #expect(try await store.read(home) { try await count($0) } == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a body that throws leaves nothing`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "1"])
            await #expect(throws: Refusal.self) {
                try await store.write([home, other]) { transaction in
                    transaction.clear(everything)
                    transaction.set(bytes("b"), bytes("2"))
                    try transaction.set(bytes("b"), bytes("2"), in: other)
                    throw Refusal()
                }
            }
            #expect(try await store.all().keys == ["a"])
            #expect(try await store.all(in: other).isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a reader keeps the state of its first read`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["a": "old", "b": "old"])
            let seen = try await store.read(home) { transaction in
                let first = try await transaction.get(bytes("a"))
                try await store.put(["a": "new", "b": "new", "c": "new"])
                let rest = try await transaction.scan(everything, limit: 9)
                return (first, rest)
            }
            #expect(seen.0 == bytes("old"))
            #expect(seen.1.map(\.value) == [bytes("old"), bytes("old")])
            #expect(try await store.value("b") == "new")
        }
    }

    @Test(arguments: Engine.allCases)
    func `readers never see half a write`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<4 {
                    group.addTask {
                        for round in 0..<25 {
                            let value = bytes("\(writer) \(round)")
                            try await store.write(home) { transaction in
                                for key in 0..<8 { transaction.set([UInt8(key)], value) }
                            }
                        }
                    }
                }
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<50 {
                            let keys = (0..<8).map { [UInt8($0)] }
                            let values = try await store.read(home) { try await $0.get(keys) }
                            #expect(Set(values).count == 1)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(arguments: Engine.allCases)
    func `concurrent counters lose no increment`(_ engine: Engine) async throws {
        let writers = 16
        let increments = 40
        try await engine.withStore { store in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<writers {
                    group.addTask {
                        for _ in 0..<increments { try await increment(bytes("n"), in: home, of: store) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.value("n") == String(writers * increments))
        }
    }

    @Test(arguments: Engine.allCases)
    func `a write over several partitions is one`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            try await store.put(["x": "theirs", "y": "theirs"], in: other)
            try await store.write([home, other]) { transaction in
                #expect(transaction.home == home)
                #expect(try await transaction.get(bytes("x"), in: other) == bytes("theirs"))
                transaction.set(bytes("x"), bytes("mine"))
                try transaction.set(bytes("z"), bytes("new"), in: other)
                try transaction.clear(bytes("x"), in: other)
                try transaction.clear(range("y", "yy"), in: other)
                #expect(try await transaction.get(["x", "z"].map(bytes), in: other) == [nil, bytes("new")])
                #expect(try await transaction.scan(everything, in: other, limit: 9).keys == ["z"])
                #expect(try await transaction.scan(everything, in: home, limit: 9, reverse: true).keys == ["x"])
            }
            #expect(try await store.all().keys == ["x"])
            #expect(try await store.all(in: other).keys == ["z"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `a partition that was not named is refused`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            await expect(.partitionNotNamed) {
                try await store.write(home) { _ = try await $0.get(bytes("a"), in: other) }
            }
            await expect(.partitionNotNamed) {
                try await store.write(home) { _ = try await $0.get([bytes("a")], in: other) }
            }
            await expect(.partitionNotNamed) {
                try await store.write(home) { _ = try await $0.scan(everything, in: other, limit: 1) }
            }
            await expect(.partitionNotNamed) { try await store.write(home) { try $0.set([], [], in: other) } }
            await expect(.partitionNotNamed) { try await store.write(home) { try $0.clear([1], in: other) } }
            await expect(.partitionNotNamed) { try await store.write(home) { try $0.clear(everything, in: other) } }
            await expect(.partitionNotNamed) { try await store.write([Partition]()) { _ in } }
            let found = try await store.all(in: other)
            #expect(found.isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `partitions are distinguished by the bytes of their names`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            let composed = Partition("\u{E9}")
            let decomposed = Partition("e\u{301}")
            try await store.put(["k": "composed"], in: composed)
            #expect(try await store.value("k", in: decomposed) == nil)
            #expect(try await store.value("k", in: composed) == "composed")
        }
    }

    @Test(arguments: Engine.allCases)
    func `a cancelled caller writes nothing and blocks no other`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            let latch = Latch()
            let inside = Latch()
            let holder = Task {
                try await store.write(home) { transaction in
                    await inside.open()
                    await latch.wait()
                    transaction.set(bytes("holder"), [])
                }
            }
            await inside.wait()
            let cancelled = Task { try await store.put(["cancelled": ""]) }
            let patient = Task { try await store.put(["patient": ""]) }
            cancelled.cancel()
            await latch.open()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            try await holder.value
            try await patient.value
            #expect(try await store.all().keys == ["holder", "patient"])
        }
    }

    @Test(arguments: Engine.allCases)
    func `hints name the committed partition, to each listener`(_ engine: Engine) async throws {
        try await engine.withStore { store in
            var first = store.commits().makeAsyncIterator()
            var second = store.commits().makeAsyncIterator()
            _ = try? await store.write(home) { transaction in
                transaction.set([1], [])
                throw Refusal()
            }
            try await store.write(Partition("only read")) { _ = try await $0.get([1]) }
            try await store.put(["a": ""], in: other)
            try await store.put(["b": ""], in: other)
            try await store.put(["a": ""], in: home)
            #expect(await first.next() == other)
            #expect(await first.next() == home)
            try await store.put(["c": ""], in: other)
            #expect(await first.next() == other)
            #expect(await second.next() == other)
        }
    }

    @Test(arguments: Engine.allCases, [1, 2, 3, 4] as [UInt64])
    func `random operations agree with a model`(_ engine: Engine, seed: UInt64) async throws {
        try await engine.withStore { store in
            var simulation = ModelSimulation(seed: seed)
            for _ in 0..<120 { try await simulation.step(store) }
            try await simulation.audit(store)
        }
    }
}

func increment(_ key: Bytes, in partition: Partition, of store: any OrderedStore) async throws {
    try await store.write(partition) { transaction in
        let count = try await transaction.get(key).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        transaction.set(key, bytes(String(count + 1)))
    }
}
