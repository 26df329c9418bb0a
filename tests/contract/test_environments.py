from assay_contracts.environments import EnvironmentLock, LockedFile, LockedPackage


def a_package(name: str, *skills: str, version: str = "1.0", sha: str = "a") -> LockedPackage:
    return LockedPackage(
        ecosystem="pip", name=name, version=version, sha256=sha * 64, skills=skills
    )


def a_file(path: str, skill: str) -> LockedFile:
    return LockedFile(path=path, size=3, sha256="f" * 64, skill=skill)


def a_lock(*packages: LockedPackage, files: tuple[LockedFile, ...] = ()) -> EnvironmentLock:
    return EnvironmentLock(base="machine:1", packages=packages, files=files)


def test_what_is_the_same_environment_has_the_same_digest() -> None:
    one = a_lock(a_package("left", "alpha"), a_package("right", "beta"))
    other = a_lock(a_package("right", "gamma"), a_package("left"))
    assert one.digest == other.digest
    assert EnvironmentLock.model_validate_json(one.model_dump_json()).digest == one.digest


def test_what_is_another_environment_has_another_digest() -> None:
    locks = (
        a_lock(),
        a_lock(a_package("left")),
        a_lock(a_package("left", version="1.1")),
        a_lock(a_package("left", sha="b")),
        a_lock(a_package("left"), files=(a_file("words.txt", "alpha"),)),
        a_lock(a_package("left")).model_copy(update={"base": "machine:2"}),
    )
    assert len({lock.digest for lock in locks}) == len(locks)


def test_a_skills_part_goes_with_it_and_what_others_need_stays() -> None:
    lock = a_lock(
        a_package("shared", "alpha", "beta"),
        a_package("only-alpha", "alpha"),
        files=(a_file("alpha.txt", "alpha"), a_file("beta.txt", "beta")),
    )
    assert lock.without(["alpha"]) == a_lock(
        a_package("shared", "beta"), files=(a_file("beta.txt", "beta"),)
    )
    assert lock.without(["alpha", "beta"]) == a_lock()
    assert lock.without([]) == lock


def test_of_the_files_a_run_sees_those_of_its_own_skill() -> None:
    lock = a_lock(a_package("shared", "alpha"), files=(a_file("a", "alpha"), a_file("b", "beta")))
    assert [file.path for file in lock.seen_by("beta").files] == ["b"]
    assert lock.seen_by("beta").packages == lock.packages
