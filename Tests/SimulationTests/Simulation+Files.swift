import CloudKitModel
import CloudKitServer

/// A file uploaded for a field and not yet saved.
struct AttachedFile {
    /// The content.
    var text: String
    var value: AssetValue
}

// MARK: Saving files

extension Simulation {
    /// Uploads a file for a known record and saves it.
    func attachFile(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        guard let name = pick(devices[index].records(in: place))?.id.recordName else { return }
        guard let file = try await upload(for: name, in: place, on: index) else { return }
        // A receipt is valid in any process.
        if roll(6) == 0 { try await restart() }
        try await attach(file, to: name, in: place, on: index)
    }

    /// Saves the file of another record in a record.
    func copyFile(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let known = devices[index].records(in: place)
        let holders = known.filter { $0.fields.contains { $0.name == "file" } }
        guard let source = (pick(holders)?.id.recordName ?? pick(Self.recordNames)),
            let target = pick(known)?.id.recordName
        else { return }
        guard let file = try await copy(of: source, in: place, on: index) else { return }
        try await attach(file, to: target, in: place, on: index)
    }

    /// Removes a file from a record.
    func detachFile(on index: Int) async throws {
        let place = someLocation(for: devices[index])
        let holders = devices[index].records(in: place).filter { $0.fields.contains { $0.name == "file" } }
        guard let name = pick(holders)?.id.recordName else { return }
        var edit = edit(name, .forceUpdate, in: place, on: index)
        edit.fields["file"] = .some(nil)
        try await save(edit, on: index, "takes the file out of")
    }

    private func attach(_ file: AttachedFile, to name: String, in place: Place, on index: Int) async throws {
        var edit = edit(name, roll(2) == 0 ? .update : .forceUpdate, in: place, on: index)
        edit.file = file
        guard try await sealSometimes(&edit, on: index) else { return }
        try await save(edit, on: index, "attaches \(file.text) to")
    }

    /// - Returns: nil without a file or an answer.
    private func upload(for name: String, in place: Place, on index: Int) async throws -> AttachedFile? {
        let device = devices[index]
        let text = "\"f\(fresh())\""
        let refusal = zoneRefusal(place, by: device.person) ?? fileRefusal("add", in: place, by: device.person)
        let answer = try await deliver("\(device.name) uploads \(text) for \(name) in \(place)") {
            try await Answer {
                let ticket = try await PermitAssetUploads(world.cloud).run(
                    AssetUploadRequest(
                        items: [.init(recordType: "Note", recordName: name, fieldName: "file")],
                        zoneID: zoneID(place, for: device)), in: address(place, for: device), by: device.caller)[0]
                var reception = try await OpenAssetUpload(world.cloud).run(ticket.url).receiveWhole(announced: nil)
                try await reception.receive(Array(text.utf8))
                return try await reception.finish()
            }
        }
        return try attached(answer, text: text, refusal: refusal, in: place, "an upload")
    }

    private func copy(of name: String, in place: Place, on index: Int) async throws -> AttachedFile? {
        let device = devices[index]
        let visible = model.visible(to: device.person, in: place)
        var refusal = zoneRefusal(place, by: device.person) ?? fileRefusal("copy", in: place, by: device.person)
        if refusal == nil, visible[name] == nil { refusal = .itemNotFound }
        let text = visible[name]?.fields["file"]
        if refusal == nil, text == nil { refusal = .badRequest }
        let answer = try await deliver("\(device.name) copies the file of \(name) in \(place)") {
            try await copy(name, in: place, for: device)
        }
        return try attached(answer, text: text ?? "", refusal: refusal, in: place, "a copy")
    }

    private func copy(_ name: String, in place: Place, for device: Device) async throws -> Answer<AssetValue> {
        try await Answer {
            let outcome = try await RereferenceAssets(world.cloud).run(
                RereferenceAssetsRequest(
                    items: [.init(recordName: name, fieldName: "file")], zoneID: zoneID(place, for: device)),
                in: address(place, for: device), by: device.caller)[0]
            switch outcome {
            case .asset(let value): return value
            case .failed(_, let failure): throw failure
            }
        }
    }

    private func attached(
        _ answer: Answer<AssetValue>?, text: String, refusal: RequestFailure.Code?, in place: Place, _ what: String
    ) throws -> AttachedFile? {
        switch answer {
        case nil: return nil
        case .refused(let failure)?:
            note("    \(failure.code)")
            try check(
                failure.code == refusal || lacksCapacity(failure, place),
                "\(what): \(failure.code) \(failure.reason), where the model says \(self.text(refusal))")
            return nil
        case .done(let value)?:
            try check(refusal == nil, "\(what) went through, where the model says \(self.text(refusal))")
            fileTexts[value.fileChecksum] = text
            return AttachedFile(text: text, value: value)
        }
    }

    /// Checks that users without write access to a zone cannot upload files.
    private func fileRefusal(_ verb: String, in place: Place, by person: Int) -> RequestFailure.Code? {
        if person == place.owner { return nil }
        let trees = model[place].trees.values.filter { $0.isMember(person) }
        return trees.contains { model.word(for: verb, object: "file", role: $0.role(of: person)) == "yes" }
            ? nil : .accessDenied
    }
}

// MARK: Background work of the cloud

extension Simulation {
    /// Sweeps unreferenced files.
    func sweep() async throws {
        note("  files are swept")
        _ = try await SweepAssets(world.cloud).runDrafts()
        for folder in Set(try await world.fileIDs().map(\.folder)).sorted() {
            _ = try await SweepAssets(world.cloud).run(inFolder: folder)
        }
    }

    /// Checks that only referenced files are left after all grace periods.
    func checkFilesLeft() async throws {
        // The clock may have been set back since an upload, and files of a deleted zone have their own grace period.
        for _ in 0..<3 {
            world.time.jump(30 * 3_600_000)
            try await sweep()
        }
        var held: Set<String> = []
        for place in SimulatedUsers.zones where model[place].state == .live {
            held.formUnion(model[place].items.values.compactMap { $0.fields["file"] })
        }
        var left: [String] = []
        for id in try await world.fileIDs() {
            let bytes = try await world.cloud.files.read(id, at: 0, count: 1_000)
            left.append(String(decoding: bytes, as: UTF8.self))
        }
        let odd = Set(left).symmetricDifference(held).sorted()
        try check(odd.isEmpty, "files that are left but not held, or the other way round: \(odd)")
    }
}

// MARK: Final checks

extension Simulation {
    /// Checks that users who see a record can download its file, and that others cannot copy it.
    func checkFiles(of place: Place, among records: [Record], for device: Device) async throws {
        for record in records {
            guard let asset = try record.fields.first(where: { $0.name == "file" })?.assets().first else { continue }
            let name = "the file of \(record.id.recordName) in \(place)"
            let bearer = AssetBearer(
                container: SimulatedCloud.container, environment: .development, user: device.caller.user)
            guard let token = IssueDownloadToken(world.cloud).run(for: asset, bearer: bearer) else {
                throw Violation("\(name) has no link")
            }
            let file = try await OpenAssetDownload(world.cloud).run(token)
            let text = String(decoding: try await file.read(at: 0, count: 1_000), as: UTF8.self)
            try check(
                text == model[place].items[record.id.recordName]?.fields["file"],
                "\(device.name) finds \(text) in \(name)")
        }
        let seen = Set(records.map(\.id.recordName))
        let hidden = model[place].items.filter { $0.value.fields["file"] != nil && !seen.contains($0.key) }
        for name in hidden.keys.sorted() {
            if case .done = try await copy(name, in: place, for: device) {
                throw Violation("\(device.name) copies the file of \(name) in \(place), which they do not see")
            }
        }
    }
}
