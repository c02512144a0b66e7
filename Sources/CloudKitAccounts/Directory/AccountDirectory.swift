import CloudKitModel
import CloudKitRecordLayer
import IdentityDirectory

/// The cloud's verifiable directory: address or user → public identity and devices (docs/directory.md).
///
/// Changes of accounts note what they concern; the next look-up, or the next auditor, makes one head of all of them.
package struct AccountDirectory: Sendable {
    let store: AccountStore
    private let partition = DirectoryRows.partition

    /// Entries that one head changes at most.
    package static let updatesMax = 100
    /// Addresses and users of one look-up.
    package static let labelsMax = 32
    /// Earlier heads of one look-up.
    package static let earlierHeadsMax = 8

    init(store: AccountStore) { self.store = store }

    private var secrets: DirectorySecrets { store.directorySecrets.value }

    /// The public keys with which devices and auditors verify.
    package var keys: DirectoryKeys { secrets.keys }

    // MARK: Look-ups

    /// The answer to a look-up: everything is of the same head.
    package struct Answer: Hashable, Sendable {
        /// The newest head.
        package var head: DirectoryHead
        /// One for each label, in the order asked.
        package var proofs: [DirectoryProof]
        /// The earlier heads that were asked for and exist, each with the proof of the history from it to the newest.
        package var earlier: [(head: DirectoryHead, proof: HistoryProof)]

        /// Compares two answers.
        package static func == (one: Self, other: Self) -> Bool {
            one.head == other.head && one.proofs == other.proofs && one.earlier.elementsEqual(other.earlier, by: ==)
        }

        /// Hashes the head.
        package func hash(into hasher: inout Hasher) { hasher.combine(head) }
    }

    /// Looks up entries and earlier heads.
    ///
    /// - Parameters:
    ///   - account: The caller's own, of whose entries the devices are shown.
    ///   - earlier: Numbers of earlier heads; those that do not exist are left out.
    /// - Throws: `RequestFailure` `itemLimitExceeded`.
    package func lookup(
        _ labels: [DirectoryLabel], of account: String?, earlier: [UInt64]
    ) async throws -> Answer {
        guard labels.count <= Self.labelsMax, earlier.count <= Self.earlierHeadsMax else {
            throw RequestFailure(
                .itemLimitExceeded,
                "too many items: at most \(Self.labelsMax) addresses and users, and \(Self.earlierHeadsMax) heads",
                remedy: "Send the halves.")
        }
        try await publish()
        let own: Set<DirectoryLabel>
        if let account { own = try await ownLabels(of: account) } else { own = [] }
        return try await store.read(partition) { reader in
            let state = try await reader.directoryState()
            let head = try await reader.head(state.next - 1)
            var answer = Answer(head: head, proofs: [], earlier: [])
            for label in labels {
                answer.proofs.append(
                    try await proof(of: label, isOwn: own.contains(label), root: state.root, in: reader))
            }
            for number in earlier where number <= head.number {
                answer.earlier.append(
                    (try await reader.head(number), try await reader.historyProof(from: number, to: head.number)))
            }
            return answer
        }
    }

    private func proof(
        of label: DirectoryLabel, isOwn: Bool, root: PrefixNode.Child?, in reader: StorageReader
    ) async throws -> DirectoryProof {
        let known = try await reader.get(DirectoryRows.indexProof(label))
        let indexProof = known ?? secrets.function.prove(label.input)
        let index = try label.index(of: indexProof)
        var tree = PrefixTree(root: root, notesChanges: false)
        try await tree.load(to: index) { try await reader.get($0) }
        let (path, held) = try tree.path(to: index)
        guard let held, let bytes = try await reader.get(DirectoryRows.entry(held.index)) else {
            return DirectoryProof(indexProof: indexProof, path: path, end: .emptyTree)
        }
        let entry = try StoredDirectoryEntry(bytes: bytes)
        let end = held.index == index ? .entry(opened(entry, isOwn: isOwn)) : DirectoryProof.End.otherLeaf(entry.leaf)
        return DirectoryProof(indexProof: indexProof, path: path, end: end)
    }

    private func opened(_ entry: StoredDirectoryEntry, isOwn: Bool) -> DirectoryProof.OpenedEntry {
        let (index, version) = (entry.leaf.index, entry.leaf.version)
        let opening = secrets.devicesOpening(index, version: version)
        let devices = entry.contents.devices
        return DirectoryProof.OpenedEntry(
            version: version, previous: entry.leaf.previous, identity: entry.contents.identity,
            opening: secrets.opening(index, version: version),
            devices: isOwn ? .shown(devices, opening: opening) : .hidden(devices.commitment(opening: opening)))
    }

    // MARK: Auditors

    /// Heads with their changes, from one on.
    package struct History: Hashable, Sendable {
        /// The newest head of all.
        package var newest: DirectoryHead
        /// The heads asked for, as many as fit.
        package var heads: [Entry]

        /// A head and the changes that it consists of.
        package struct Entry: Hashable, Sendable {
            /// The head.
            package var head: DirectoryHead
            /// In the order in which they were made.
            package var updates: [DirectoryUpdate]
        }
    }

    /// Returns the heads from a number on, at most 50 and about 100 changes.
    package func history(from number: UInt64) async throws -> History {
        try await publish()
        return try await store.read(partition) { reader in
            let newest = try await reader.head(try await reader.directoryState().next - 1)
            var history = History(newest: newest, heads: [])
            var count = 0
            var next = number
            while next <= newest.number, history.heads.count < 50, count < Self.updatesMax {
                let rows = try await reader.scan(StorageKeyRange(prefix: DirectoryRows.updates(next)), limit: .max)
                let updates = try rows.map { try DirectoryUpdate(bytes: $0.value) }
                history.heads.append(History.Entry(head: try await reader.head(next), updates: updates))
                count += updates.count
                next += 1
            }
            return history
        }
    }

    // MARK: Publishing

    /// Makes heads of everything that has changed since the last one; the first call makes the first head.
    package func publish() async throws {
        if try await store.read(partition, { try await $0.get(DirectoryRows.state) }) == nil { try await begin() }
        while try await publishBatch() {}
    }

    /// Notes all accounts of a store that has no directory yet.
    private func begin() async throws {
        let accounts = try await store.accounts.list().map(\.id)
        for start in stride(from: 0, to: accounts.count, by: 500) {
            try await store.write { transaction in
                for account in accounts[start..<min(start + 500, accounts.count)] {
                    try transaction.noteDirectoryChange(.account(account))
                }
            }
        }
    }

    /// - Returns: Whether more may be waiting.
    private func publishBatch() async throws -> Bool {
        let pending = try await store.read { try await $0.pendingDirectoryChanges(limit: Self.updatesMax) }
        let hasHead = try await store.read(partition) { try await $0.get(DirectoryRows.state) } != nil
        if pending.isEmpty, hasHead { return false }
        // Outside of the transaction, since each takes a while.
        var indexProofs: [DirectoryLabel: [UInt8]] = [:]
        for label in try await store.read({ try await $0.labels(of: pending) }) {
            let known = try await store.read(partition) { try await $0.get(DirectoryRows.indexProof(label)) }
            indexProofs[label] = known ?? secrets.function.prove(label.input)
        }
        let now = UInt64(clamping: store.serverEnvironment.now())
        return try await store.write(with: partition) { [indexProofs] transaction in
            try await publish(pending, indexProofs, now: now, in: &transaction)
            return pending.count == Self.updatesMax
        }
    }

    private func publish(
        _ pending: [PendingDirectoryChange], _ indexProofs: [DirectoryLabel: [UInt8]], now: UInt64,
        in transaction: inout StorageWriter
    ) async throws {
        var state = try await transaction.get(DirectoryRows.state, in: partition).map(DirectoryState.init(bytes:))
        let isFirst = state == nil
        let number = state?.next ?? 0
        var tree = PrefixTree(root: state?.root)
        var updates: [DirectoryUpdate] = []
        for change in pending {
            let labels = try await transaction.labels(of: [change])
            // Another name may have come since the indices were computed: the change then waits for the next turn.
            guard labels.allSatisfy({ indexProofs[$0] != nil }) else { continue }
            for label in labels {
                guard let indexProof = indexProofs[label] else { continue }
                if let update = try await update(label, indexProof, tree: &tree, in: &transaction) {
                    updates.append(update)
                }
            }
            PendingDirectoryChange.table.clear(change, in: &transaction)
        }
        if updates.isEmpty, !isFirst { return }
        for (position, update) in updates.enumerated() {
            try transaction.set(DirectoryRows.update(number, position), update.bytes, in: partition)
        }
        for key in tree.changed {
            guard let node = tree.node(key) else { continue }
            try transaction.set(DirectoryRows.node(key), node.bytes, in: partition)
        }
        state = DirectoryState()
        state?.next = number + 1
        let earlierCount = try await transaction.get(DirectoryRows.state, in: partition)
            .map { try DirectoryState(bytes: $0).count }
        state?.count = (earlierCount ?? 0) + UInt64(updates.count { $0.leaf.version == 1 })
        state?.root = tree.root
        try await append(tree.rootHash, state?.count ?? 0, number: number, now: now, in: &transaction)
        try transaction.set(DirectoryRows.state, state?.bytes ?? [], in: partition)
    }

    /// Sets the next version of a label's entry.
    ///
    /// - Returns: nil: the entry is as it should be.
    private func update(
        _ label: DirectoryLabel, _ indexProof: [UInt8], tree: inout PrefixTree, in transaction: inout StorageWriter
    ) async throws -> DirectoryUpdate? {
        let index = try label.index(of: indexProof)
        let contents = try await transaction.contents(of: label)
        let held = try await transaction.get(DirectoryRows.entry(index), in: partition)
            .map(StoredDirectoryEntry.init(bytes:))
        guard contents != held?.contents ?? DirectoryContents() else { return nil }
        let reads = transaction
        try await tree.load(to: index) { try await reads.get($0, in: partition) }
        let (path, end) = try tree.path(to: index)
        var before: DirectoryLeaf?
        if let end {
            before = try await transaction.get(DirectoryRows.entry(end.index), in: partition)
                .map { try StoredDirectoryEntry(bytes: $0).leaf }
        }
        let version = (held?.leaf.version ?? 0) + 1
        let devices = contents.devices.commitment(opening: secrets.devicesOpening(index, version: version))
        let leaf = DirectoryLeaf(
            index: index, version: version, previous: held?.leaf.hash ?? .zero,
            commitment: DirectoryEntry(identity: contents.identity, devices: devices)
                .commitment(version: version, opening: secrets.opening(index, version: version)))
        try tree.set(leaf.hash, at: index)
        try transaction.set(
            DirectoryRows.entry(index), StoredDirectoryEntry(leaf: leaf, contents: contents).bytes, in: partition)
        try transaction.set(DirectoryRows.indexProof(label), indexProof, in: partition)
        return DirectoryUpdate(leaf: leaf, path: path, held: before)
    }

    /// Signs the next head and adds it to the log.
    private func append(
        _ root: DirectoryHash, _ count: UInt64, number: UInt64, now: UInt64, in transaction: inout StorageWriter
    ) async throws {
        var hashes: [HeadLog.Position: DirectoryHash] = [:]
        let whole = HeadLog.positions(of: 0..<number)
        for position in whole + HeadLog.neighbours(of: number) {
            hashes[position] = try await transaction.get(DirectoryRows.log(position), in: partition)
                .flatMap { DirectoryHash($0) }
        }
        var previous: DirectoryHead?
        if number > 0, let bytes = try await transaction.get(DirectoryRows.head(number - 1), in: partition) {
            previous = try DirectoryHead(bytes: bytes)
        }
        let head = try DirectoryHead(
            number: number, root: root, count: count, time: now, previous: previous?.hash ?? .zero,
            log: HeadLog.fold(whole.compactMap { hashes[$0] }), key: secrets.signing)
        for (position, hash) in try HeadLog.completed(by: number, head: head.hash, held: { hashes[$0] }) {
            try transaction.set(DirectoryRows.log(position), hash.bytes, in: partition)
        }
        try transaction.set(DirectoryRows.head(number), head.bytes, in: partition)
    }

    private func ownLabels(of account: String) async throws -> Set<DirectoryLabel> {
        Set(try await store.read { try await $0.labels(of: [.account(account)]) })
    }
}

extension DirectoryLabel {
    /// Returns the index that a proof of the cloud's own gives.
    fileprivate func index(of proof: [UInt8]) throws(DirectoryError) -> DirectoryIndex {
        guard let output = VerifiableRandomFunction.output(of: proof),
            let index = DirectoryIndex(output.prefix(DirectoryIndex.byteCount))
        else { throw .wrongIndex }
        return index
    }
}

extension PrefixTree {
    /// Loads the nodes on the way to an index that are not there yet.
    fileprivate mutating func load(
        to index: DirectoryIndex, _ get: (StorageBytes) async throws -> StorageBytes?
    ) async throws {
        var child = root
        while let key = child?.key {
            if node(key) == nil, let bytes = try await get(DirectoryRows.node(key)) {
                load(try PrefixNode(bytes: bytes), at: key)
            }
            child = node(key)?.child(toward: index, at: key)
        }
    }
}

extension StorageReader {
    fileprivate func directoryState() async throws -> DirectoryState {
        try await get(DirectoryRows.state).map(DirectoryState.init(bytes:)) ?? DirectoryState()
    }

    fileprivate func head(_ number: UInt64) async throws -> DirectoryHead {
        guard let bytes = try await get(DirectoryRows.head(number)) else { throw DirectoryError.incomplete }
        return try DirectoryHead(bytes: bytes)
    }

    fileprivate func historyProof(from earlier: UInt64, to later: UInt64) async throws -> HistoryProof {
        guard earlier < later else { return HistoryProof(inclusion: [], consistency: []) }
        var proof = HistoryProof(inclusion: [], consistency: [])
        for range in HeadLog.inclusion(of: earlier, size: later) { proof.inclusion.append(try await fold(range)) }
        guard earlier > 0 else { return proof }
        for range in HeadLog.consistency(from: earlier, size: later) { proof.consistency.append(try await fold(range)) }
        return proof
    }

    private func fold(_ range: Range<UInt64>) async throws -> DirectoryHash {
        let rows = try await get(HeadLog.positions(of: range).map(DirectoryRows.log))
        return HeadLog.fold(rows.compactMap { $0.flatMap { DirectoryHash($0) } })
    }
}

extension StorageView {
    fileprivate func pendingDirectoryChanges(limit: Int) async throws -> [PendingDirectoryChange] {
        let prefix = Array("\(PendingDirectoryChange.table.name)/".utf8)
        return try await scan(StorageKeyRange(prefix: prefix), limit: limit).compactMap {
            PendingDirectoryChange(rowText: String(decoding: $0.key.dropFirst(prefix.count), as: UTF8.self))
        }
    }

    /// Returns the labels of changes, those of accounts by the names that the accounts have now.
    fileprivate func labels(of changes: [PendingDirectoryChange]) async throws -> [DirectoryLabel] {
        var labels: [DirectoryLabel] = []
        for change in changes {
            switch change {
            case .label(let label): labels.append(label)
            case .account(let id):
                guard let account = try await Account.table.row(id, in: self) else { continue }
                labels.append(.address(account.email))
                labels += try await UserNames.names.rows(of: id, in: self).map { .user($0.row, container: $0.name) }
            }
        }
        return labels
    }

    /// Returns the facts that the directory should hold about an address or user.
    fileprivate func contents(of label: DirectoryLabel) async throws -> DirectoryContents {
        let account: String?
        switch label {
        case .address(let address): account = try await Account.idsByEmail.row(address, in: self)
        case .user(let user, let container):
            account = try await UserNames.accounts.row(user, in: self)
            guard let account,
                try await UserNames.names.row(OwnedRowKey(owner: account, name: container), in: self) == user
            else { return DirectoryContents() }
        }
        guard let account, let keychain = try await Keychain.table.row(account, in: self) else {
            return DirectoryContents()
        }
        let sessions = try await DeviceSession.table.rows(of: account, in: self).map(\.row).filter { !$0.isBrowser }
        return DirectoryContents(
            identity: keychain.identity,
            devices: DirectoryDevices(
                sessions.map { DirectoryDevice(id: $0.id, created: UInt64(clamping: $0.created)) }))
    }
}

extension AccountStore {
    /// The cloud's verifiable directory of identities.
    package var directory: AccountDirectory { AccountDirectory(store: self) }
}
