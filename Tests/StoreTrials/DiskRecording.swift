import CFaultyFiles
import Foundation
import SeededChance
import Synchronization

/// Every change that SQLite makes to files, in order, from which the files of a machine without power are made.
enum DiskRecording {
    /// One change. The file names are without their folder.
    enum Change: Sendable {
        case created(String)
        case written(String, offset: Int, bytes: [UInt8])
        case truncated(String, count: Int)
        case syncBegan(String)
        case syncEnded(String)
        case deleted(String, isSynced: Bool)
    }

    private struct State {
        var changes: [Change] = []
        var folder: String?
    }

    private static let state = Mutex(State())

    static var count: Int { state.withLock { $0.changes.count } }

    /// Records the changes in a folder from now on.
    static func begin(in folder: String) {
        state.withLock { $0 = State(folder: folder) }
        faulty_files_observe { event, path, offset, data, count in
            guard let path else { return }
            DiskRecording.note(event, String(cString: path), offset: Int(offset)) {
                [UInt8](UnsafeRawBufferPointer(start: data, count: Int(count)))
            }
        }
    }

    static func end() -> [Change] {
        faulty_files_observe(nil)
        return state.withLock { state in
            state.folder = nil
            return state.changes
        }
    }

    private static func note(_ event: Int32, _ path: String, offset: Int, bytes: () -> [UInt8]) {
        state.withLock { state in
            guard let folder = state.folder, path.hasPrefix(folder) else { return }
            let name = String(path.dropFirst(folder.count).drop { $0 == "/" })
            switch Int(event) {
            case FAULTY_CREATED: state.changes.append(.created(name))
            case FAULTY_WRITTEN: state.changes.append(.written(name, offset: offset, bytes: bytes()))
            case FAULTY_TRUNCATED: state.changes.append(.truncated(name, count: offset))
            case FAULTY_SYNC_BEGAN: state.changes.append(.syncBegan(name))
            case FAULTY_SYNC_ENDED: state.changes.append(.syncEnded(name))
            case FAULTY_DELETED: state.changes.append(.deleted(name, isSynced: offset != 0))
            default: break
            }
        }
    }
}
