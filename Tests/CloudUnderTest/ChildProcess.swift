import Foundation

/// A child process with its output in a file.
package final class ChildProcess {
    package let identifier: pid_t
    private var status: Int32?

    /// - Parameters:
    ///   - arguments: The program's path and its arguments.
    ///   - variables: Environment variables that override those of this process.
    ///   - input: The file that the program reads.
    ///   - output: The file to which the program's standard output is appended.
    ///   - errors: The file for standard error; nil for the same file.
    package init(
        _ arguments: [String], variables: [String: String], input: String = "/dev/null", output: String,
        errors: String? = nil
    ) throws(ChildFailure) {
        let environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }.map { "\($0)=\($1)" }
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        if let errors {
            posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        } else {
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        // Closes inherited sockets of other tests: with a copy in a child, closing one would not end its connection.
        for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        var identifier: pid_t = 0
        let program = arguments[0]
        let outcome = Self.withStrings(arguments) { arguments in
            Self.withStrings(environment) { environment in
                posix_spawn(&identifier, program, &actions, nil, arguments, environment)
            }
        }
        guard outcome == 0 else {
            throw ChildFailure(program: program, reason: String(cString: strerror(outcome)))
        }
        self.identifier = identifier
    }

    deinit {
        if status == nil {
            kill()
        }
    }

    package var isRunning: Bool {
        if status != nil { return false }
        var status: Int32 = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return true }
        self.status = status
        return false
    }

    /// How the process ended, for messages of tests.
    package var end: String {
        guard !isRunning, let status else { return "runs" }
        let signal = status & 0x7F
        return signal == 0 ? "ended with status \((status >> 8) & 0xFF)" : "was ended by signal \(signal)"
    }

    package func send(_ signal: Int32) {
        if status == nil { Foundation.kill(identifier, signal) }
    }

    /// Kills the process (SIGKILL).
    package func kill() {
        send(SIGKILL)
        wait()
    }

    /// Waits until the process has ended.
    ///
    /// - Returns: The exit status; nil if a signal ended it.
    @discardableResult
    package func wait() -> Int32? {
        while status == nil {
            var status: Int32 = 0
            if waitpid(identifier, &status, 0) == identifier {
                self.status = status
            } else if errno != EINTR {
                self.status = -1
            }
        }
        guard let status, status & 0x7F == 0 else { return nil }
        return (status >> 8) & 0xFF
    }

    /// The processor time used so far, in seconds (Linux; 0 elsewhere), which other processes do not affect.
    package var processorSeconds: Double {
        #if canImport(Glibc)
            // In nanoseconds; the numbers in /proc have hundredths of a second.
            var clock = clockid_t()
            var time = timespec()
            guard clock_getcpuclockid(identifier, &clock) == 0, clock_gettime(clock, &time) == 0 else { return 0 }
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        #else
            return 0
        #endif
    }

    /// The resident memory in bytes (Linux; 0 elsewhere).
    package var residentBytes: Int {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kibibytes = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap({
                Int($0)
            })
        else { return 0 }
        return kibibytes * 1024
    }

    private static func withStrings<Value>(
        _ strings: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Value
    ) -> Value {
        var pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeMutableBufferPointer { buffer in
            // Never nil: the list has at least its terminating nil element.
            body(buffer.baseAddress!)
        }
    }
}

/// The error of a program that could not be started or failed.
package struct ChildFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package var program: String
    package var reason: String

    package init(program: String, reason: String) {
        self.program = program
        self.reason = reason
    }

    package var description: String { "\(program): \(reason)" }
}
